-- The action lua.doorward <url> for HAProxy 2.5 and later, loaded by haproxy.cfg. It asks Doorward about the request.
-- On 200 it copies the identity headers to the request and removes Doorward's cookies from it. On a refusal (401, 403) or
-- a redirect to the sign-in page (303) it returns Doorward's response to the client.
-- Any other response is left to the next rule in haproxy.cfg.

-- HAProxy tries up to four times, 2 s in total.
local TIMEOUT_MS = 500
-- The request that ends a sign-in works once, so a slow answer must not be asked for again.
local SIGN_IN_TIMEOUT_MS = 15000

local FORWARDED_HEADERS = {
    "authorization",
    "cookie",
    "accept",
    "accept-language",
    "user-agent",
    "origin",
    "referer",
    "sec-fetch-site",
    "sec-fetch-mode",
    "sec-fetch-dest",
    "sec-purpose",
    "purpose",
    "x-moz",
    "x-requested-with",
    "sec-websocket-version",
    "access-control-request-method",
    "x-forwarded-for",
    "x-forwarded-proto",
    "x-forwarded-host",
    "x-forwarded-method",
    "x-forwarded-uri",
}
local IDENTITY = {
{%- for name in setup.headers.copied() %}
    "{{ name }}",
{%- endfor %}
}
local REFUSALS = { [303] = true, [400] = true, [401] = true, [403] = true }
local REFUSAL_HEADERS = {
    "content-type",
    "www-authenticate",
    "cache-control",
    "vary",
    "x-decision-id",
    "location",
    "set-cookie",
    "content-language",
    "content-security-policy",
    "cross-origin-opener-policy",
    "cross-origin-resource-policy",
    "referrer-policy",
    "x-content-type-options",
    "x-frame-options",
}

-- HAProxy counts the values of a header from 0, its HTTP client from 1.
local function values(header)
    local list = {}
    for i = 0, #header do
        list[i + 1] = header[i]
    end
    return list
end

-- On plain HTTP, the names of cookies of all Doorwards on this host: doorward-app-1a2b3c4d.
local KINDS_OF_COOKIES = { app = true, device = true, session = true, try = true }

local function is_doorwards(cookie)
    local name = cookie:match("^[^=]*")
    local kind = (name .. "-"):match("^doorward%-(%a+)%-")
    return name == "doorward" or KINDS_OF_COOKIES[kind or ""] or name:find("^__Host%-doorward")
end

local function remove_doorwards_cookies(txn, sent)
    local kept = {}
    for _, header in ipairs(values(sent["cookie"])) do
        for cookie in header:gmatch("[^; ][^;]*") do
            if not is_doorwards(cookie) then
                kept[#kept + 1] = cookie
            end
        end
    end
    txn.http:req_del_header("cookie")
    if #kept > 0 then
        txn.http:req_add_header("cookie", table.concat(kept, "; "))
    end
end

core.register_action("doorward", { "http-req" }, function(txn, url)
    local sent = txn.http:req_get_headers()
    local headers = {}
    for _, name in ipairs(FORWARDED_HEADERS) do
        if sent[name] then
            headers[name] = values(sent[name])
        end
    end

    local is_sign_in = txn.sf:path() == "/.doorward/in"
    local timeout = is_sign_in and SIGN_IN_TIMEOUT_MS or TIMEOUT_MS
    local answer = core.httpclient():get({ url = url, headers = headers, timeout = timeout })

    if answer.status == 200 then
        for _, name in ipairs(IDENTITY) do
            local value = answer.headers[name] and answer.headers[name][0] or ""
            if value == "" then
                txn.http:req_del_header(name)
            else
                txn.http:req_set_header(name, value)
            end
        end
        if sent["cookie"] then
            remove_doorwards_cookies(txn, sent)
        end
        txn:set_var("txn.doorward_admitted", true)
    elseif REFUSALS[answer.status] then
        local refusal = txn:reply({ status = answer.status, body = answer.body })
        for _, name in ipairs(REFUSAL_HEADERS) do
            if answer.headers[name] then
                for _, value in ipairs(values(answer.headers[name])) do
                    refusal:add_header(name, value)
                end
            end
        end
        txn:done(refusal)
    end
end, 1)
