"""Real texts of failures, with what each one means; the table that `classify` and its neighbours are held to."""

from typing import NamedTuple

from flower.core.failures import Kind

GATEWAY = (
    " This is a server-side issue, usually temporary — try again in a moment."
    " If it persists, check your inference gateway (127.0.0.1:40301)."
)


class FailureText(NamedTuple):
    text: str
    kind: Kind
    login: bool = False
    overload: bool = False


def fatal(text: str) -> FailureText:
    return FailureText(text, "fatal")


def login(text: str) -> FailureText:
    return FailureText(text, "fatal", login=True)


def transient(text: str) -> FailureText:
    return FailureText(text, "transient")


def overload(text: str) -> FailureText:
    return FailureText(text, "transient", overload=True)


def unknown(text: str) -> FailureText:
    return FailureText(text, "unknown")


FAILURE_TEXTS = [
    # The CLI's own words for a refused credential.
    login("Not logged in · Please run /login"),
    login("Invalid API key · Fix external API key"),
    login("API Error: 401 Invalid API key · Please run /login"),
    login(
        "Failed to authenticate. API Error: 401 OAuth token has expired."
        " Please obtain a new token or refresh your existing token."
    ),
    login("Failed to authenticate: OAuth session expired and could not be refreshed"),
    login("Failed to authenticate: this login reached its time limit · Sign in again to continue"),
    login("OAuth token revoked · Please run /login"),
    login("Login expired · Please run /login"),
    login("Failed to authenticate. API Error: 401 无效的令牌 (request id: 20260117153045)"),
    # What the API and gateways say to the same end.
    login('{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}'),
    login("Error code: 401 - {'error': {'message': 'Incorrect API key provided'}}"),
    login("401 unauthorized: connection error"),
    login("HTTP 401"),
    login("令牌状态不可用:该令牌已过期"),
    login("身份验证失败,请检查密钥"),
    # Refused for other reasons: a new login doesn't help, nor does waiting.
    fatal("Failed to authenticate. API Error: 403 Your API key does not have permission to use the resource"),
    fatal("Failed to authenticate. API Error: 403 用户额度不足"),
    fatal("API Error: 400 due to tool use concurrency issues."),
    fatal("API Error: 400 orphaned tool_result in conversation history."),
    fatal("400 {'type':'error','error':{'type':'invalid_request_error','message':'max_tokens: too large'}}"),
    fatal("API Error: 402 payment required"),
    fatal("HTTP/1.1 404 Not Found"),
    fatal(
        "There's an issue with the selected model (claude-nope-1)."
        " It may not exist or you may not have access to it. Run --model to pick a different model."
    ),
    fatal("Request too large (max 32MB). Accumulated images and attachments pushed it over the limit."),
    fatal("413 request_too_large: Request exceeds the maximum size"),
    fatal("Prompt is too long · the request is ~205000 tokens (limit 200000)"),
    fatal("Credit balance is too low"),
    fatal("Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing."),
    fatal("You've hit your monthly spend limit."),
    fatal("429 You exceeded your current quota, please check your plan and billing details"),
    fatal("This organization has been disabled."),
    fatal("permission denied: /home/u/.claude"),
    fatal("error_max_budget_usd"),
    fatal("Budget limit reached ($5.02 spent of the $5.00 maximum)."),
    fatal("Reached maximum number of turns (4)"),
    fatal("CLINotFoundError: Claude Code not found at: /opt/claude"),
    fatal("self-signed certificate in certificate chain"),
    fatal("unable to verify the first certificate"),
    fatal("407 Proxy Authentication Required"),
    fatal("账户余额不足,请充值"),
    fatal("模型不存在或没有权限"),
    fatal("请求参数错误:messages 不能为空"),
    # The network, or what stands between.
    transient("API Error: Can't reach the API server — check your internet or DNS (ENOTFOUND)"),
    transient("API Error: Connection refused — a firewall or proxy may be blocking it (ECONNREFUSED)"),
    transient(
        "API Error: Connection dropped (ECONNRESET). Check the gateway in ANTHROPIC_BASE_URL, then try again."
    ),
    transient(
        "API Error: Couldn't connect through your proxy (ERR_PROXY_TUNNEL) — the proxy refused the tunnel"
    ),
    transient("getaddrinfo EAI_AGAIN api.anthropic.com"),
    transient("connect ETIMEDOUT 160.79.104.10:443"),
    transient("write EPIPE"),
    transient("[Errno 104] Connection reset by peer"),
    transient("[Errno -3] Temporary failure in name resolution"),
    transient("socket hang up"),
    transient("TypeError: fetch failed"),
    transient("API Error: Connection error."),
    transient("API Error: Request timed out."),
    transient("Unable to connect. Is the computer able to access the url?"),
    transient("Network is unreachable"),
    transient("网络连接异常,请检查网络"),
    transient("连接被重置"),
    transient("域名解析失败"),
    # The other side stumbled.
    transient("API Error: 500 Internal server error." + GATEWAY),
    transient("API Error: 502 Bad Gateway." + GATEWAY),
    transient("API Error: 503 upstream connect error or disconnect/reset before headers." + GATEWAY),
    transient("API Error: 503 status code (no body)." + GATEWAY),
    transient("API Error: 504 上游请求超时." + GATEWAY),
    transient("API Error: 503 当前分组 default 下对于模型 claude 无可用渠道." + GATEWAY),
    transient("error code: 524"),
    transient('{"error":{"code":502,"message":"..."}}'),
    transient(
        "Failed to refresh OAuth token: another process is refreshing it. This is usually transient; retry"
    ),
    transient("服务暂时不可用"),
    # It is there, and has too much to do.
    overload("API Error: 529 Overloaded." + GATEWAY),
    overload('{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'),
    overload("API Error: Repeated 529 Overloaded errors"),
    overload(
        "API Error: Request rejected (429) · This request would exceed your organization's rate limit"
        " of 50,000 input tokens per minute"
    ),
    overload("Server is temporarily limiting requests (not your usage limit)"),
    overload("429 Too Many Requests"),
    overload("You've hit your weekly limit"),
    overload("5-hour limit reached"),
    overload("API Error: Request rejected (429) · 请求过于频繁,请稍后再试"),
    overload("当前分组上游负载已饱和,请稍后再试"),
    # A limit that names the time of its reset: waited for, and no mere overload.
    transient("Claude AI usage limit reached|1766502000"),
    transient("You've hit your session limit · resets 8pm (America/New_York)"),
    # Numbers and words that only look like it.
    unknown("wrote 14000 lines"),
    unknown("wrote 400 lines to report.md"),
    unknown("took 500 ms"),
    unknown("listening on localhost:503"),
    unknown("cost $4.29, 5.00 left"),
    unknown("ticket REQ-404"),
    unknown("Command failed with exit code 143"),
    unknown("写了 500 行"),
    unknown("一共 404 个文件"),
    unknown("API Error: Request was aborted."),
    unknown(""),
]
