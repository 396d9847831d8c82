"""The Chinese that stands in English sentences too, for it is the format of files or of answers."""

BRIEF_AND_GOAL = {"目标", "判定清单", "验收标准", "边界", "未知与假设", "唤醒时追加", "运行中补充"}
VERDICT = {"结论", "理由", "未通过", "达成", "未达成", "无法达成", "无"}
HANDOFF = {"现在在做什么", "已经定下的", "走不通的路", "下一步", "现场"}
MARKS = {"已修改", "此环境无法验证", "验不了"}
PAGES = {"需求", "需求确认书", "问答记录", "需求问答记录"}
FORMATS = BRIEF_AND_GOAL | VERDICT | HANDOFF | MARKS | PAGES
