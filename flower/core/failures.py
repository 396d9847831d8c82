"""What the text of a failure means: wait and try again, stop, log in anew, or slow down.

Pure functions over the texts that the CLI, the API and gateways in front of it give. The patterns are the promise;
`tests/unit/core/failure_texts.py` holds real texts for each, so a pattern that is changed shows what it moves.
"""

import re
from typing import Literal

from flower.core.limits import limit_reset

Kind = Literal["transient", "fatal", "unknown"]


def classify(text: str | None) -> Kind:
    """``fatal``: trying again can't help. ``transient``: it can. ``unknown``: the text doesn't say.

    Fatal is looked for first: a refused credential often speaks of its "connection", too.
    """
    if not text:
        return "unknown"
    if _FATAL.search(text):
        return "fatal"
    if _TRANSIENT.search(text):
        return "transient"
    return "unknown"


def is_overload(text_or_status: str | int | None) -> bool:
    """Whether the other side only asks for patience: 529, overloaded, or a limit that names no time.

    Such a failure is waited out at a slow pace and says nothing about the request. A limit that does name
    the time of its reset is not meant: `limit_reset` says until when.
    """
    text = "" if text_or_status is None else str(text_or_status)
    if classify(text) == "fatal" or limit_reset(text, now=0.0) is not None:
        return False
    return _OVERLOAD.search(text) is not None


def is_login(text: str | None) -> bool:
    """Whether the credentials were refused, so that a new login or key mends it. Always fatal for `classify`."""
    return bool(text) and _LOGIN.search(text or "") is not None


def is_thinking_refused(text: str | None) -> bool:
    """Whether the API refused the thinking that a session is fed back: changed, or signed by another provider.

    Always fatal for `classify`; fed back without its thinking, the session can go on.
    """
    return bool(text) and _THINKING.search(text or "") is not None


def _status(*codes: str) -> str:
    # A status stands alone: not within 14000 or req-400, not a port (host:500), a price, a share, a
    # decimal or an amount of something.
    before = r"(?:(?<![\w.,:$#-])|(?<=[\"' ]:)|(?<=[Ee]rror:)|(?<=[Cc]ode:)|(?<=[Ss]tatus:)|(?<=HTTP[/-]))"
    after = (
        r"(?![\w%]|[.,]\d"
        r"|\s*(?:tokens?|characters?|chars?|lines?|files?|turns?|times|bytes|[kKMG]B|ms|s|sec|seconds?|minutes?)\b"
        r"|\s*(?:个|行|字|次|轮|秒|毫秒|分钟))"
    )
    return before + "(?:" + "|".join(codes) + ")" + after


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE)


_LOGIN_PATTERNS = (
    _status("401"),
    r"invalid (?:x-)?api[ _-]?key",
    r"authentication_error|\bunauthori[sz]ed\b",
    r"oauth (?:token|session)[^.\n]{0,40}(?:expired|revoked)",
    r"not logged in|(?:please )?run /login|claude auth login",
    r"\blogin (?:has )?(?:expired|reached its time limit)|(?:log|sign) in again",
    r"无效的?\s*(?:令牌|密钥|凭证|api[ _-]?key|key\b|token\b)",
    r"(?:令牌|密钥|凭证|登录|token|api[ _-]?key)\s*(?:状态)?(?:无效|不正确|错误|已?过期|已?失效|被拒)",
    r"未登录|请?重新登录|未授权|(?:认证|鉴权|身份验证)失败",
)

_LOGIN = _any(*_LOGIN_PATTERNS)

_FATAL = _any(
    *_LOGIN_PATTERNS,
    _status("400", "402", "403", "404", "407", "413"),
    r"failed to authenticate|\bauthentication\b",
    r"permission[ _](?:denied|error)|\bforbidden\b",
    r"invalid_request|not_found_error|request(?:_| )too(?:_| )large|prompt is too long",
    r"issue with the selected model|(?:unknown|invalid|no such) model|model not found",
    r"credit balance|insufficient (?:credits?|balance|funds)|out of (?:usage )?credits|monthly spend limit",
    r"quota (?:exceeded|exhausted)|exceeded your (?:current )?quota|insufficient_quota",
    r"organization has been disabled|account (?:has been )?(?:suspended|disabled)",
    r"(?<![a-z])budget(?![a-z])|max_turns|max(?:imum number of)? turns",
    r"CLINotFound|Claude Code not found",
    r"self[- _]signed[- _]cert|unable[ _]to[ _](?:verify[ _]|get[ _](?:local[ _])?issuer)",
    r"余额不足|欠费|(?:额度|配额)(?:不足|已?用[尽完]|已?耗尽|超限)",
    r"没有权限|无权|权限不足|禁止访问",
    r"参数(?:错误|无效|不合法)|模型不存在|不存在的?模型|不支持(?:的|该)?模型",
    r"(?:账号|账户|用户)已?被?(?:封禁|停用|禁用)",
)

_OVERLOAD_PATTERNS = (
    _status("429", "529"),
    r"overloaded|\brate[ _-]?limit|too many requests|temporarily limiting requests",
    r"(?:usage|session|weekly|hourly|daily|opus|sonnet|hit your) limit|\blimit reached",
    r"过载|限流|过于频繁|(?:频率|速率)(?:限制|超限|过高)|负载已?(?:饱和|过高)|使用上限|(?:服务器?|系统)繁忙",
)

_OVERLOAD = _any(*_OVERLOAD_PATTERNS)

_TRANSIENT = _any(
    *_OVERLOAD_PATTERNS,
    _status("408", "425", "500", "502", "503", "504", "52[0-6]"),
    r"\b(?:ENOTFOUND|EAI_AGAIN|ECONNRESET|ECONNREFUSED|ECONNABORTED|ETIMEDOUT|ESOCKETTIMEDOUT|EPIPE)\b",
    r"\b(?:EHOSTUNREACH|EHOSTDOWN|ENETUNREACH|ENETDOWN|ERR_PROXY_TUNNEL|UND_ERR_\w+)\b",
    r"socket hang up|fetch failed|premature close|broken pipe",
    r"network (?:error|timeout|is (?:down|unreachable))|no route to host|name resolution|getaddrinfo",
    r"connection (?:error|dropped|reset|refused|closed|aborted|lost|failed)|connect error|unable to connect",
    r"can['’]t reach the api server|couldn['’]t connect through your proxy|server-side issue",
    r"\btime(?:d)?[ -]?out\b|gateway time-?out|bad gateway",
    r"(?:temporarily|service) unavailable|internal server error|usually (?:transient|temporary)",
    r"超时|网络(?:错误|异常|不可达|不可用|中断|连接)|断网|连接(?:被)?(?:重置|拒绝|断开|关闭|中断|失败|异常)",
    r"(?:域名|DNS)\s*解析失败|无法(?:连接|访问|解析)|(?:服务器?)(?:暂时|暂)?(?:不可用|内部错误|异常|错误)",
    r"稍后(?:再试|重试)|无可用渠道|网关错误",
)

_THINKING = _any(
    r"thinking`?[^\n]{0,80}cannot be modified",
    r"invalid `?signature`?[^\n]{0,40}thinking",
    r"final block in an assistant message cannot be `?thinking",
    r"expected `?thinking`?[^\n]{0,40}but found",
    r"thinking[^\n]{0,40}signature[^\n]{0,40}(?:invalid|required|missing|mismatch)",
)
