-- The action lua.doorward <url> for HAProxy 2.5 and later, loaded by haproxy.cfg. It asks Doorward about the request.
-- On 200 it copies the identity headers to the request. On 401 it returns Doorward's response to the client.
-- Any other response is left to the next rule in haproxy.cfg.

-- HAProxy tries up to four times, 2 s in total.
local TIMEOUT_MS = 500

local FORWARDED_HEADERS = {
    "authorization",
    "origin",
    "access-control-request-method",
    "x-forwarded-for",
    "x-forwarded-proto",
    "x-forwarded-host",
    "x-forwarded-method",
    "x-forwarded-uri",
}
local IDENTITY = {
    "x-auth-user-id",
    "x-auth-policy",
    "x-auth-user-name",
    "x-auth-user-email",
    "x-auth-user-email-verified",
}
local REFUSAL_HEADERS = { "content-type", "www-authenticate", "cache-control", "vary", "x-decision-id" }

-- HAProxy counts the values of a header from 0, its HTTP client from 1.
local function values(header)
    local list = {}
    for i = 0, #header do
        list[i + 1] = header[i]
    end
    return list
end

core.register_action("doorward", { "http-req" }, function(txn, url)
    local sent = txn.http:req_get_headers()
    local headers = {}
    for _, name in ipairs(FORWARDED_HEADERS) do
        if sent[name] then
            headers[name] = values(sent[name])
        end
    end

    local answer = core.httpclient():get({ url = url, headers = headers, timeout = TIMEOUT_MS })

    if answer.status == 200 then
        for _, name in ipairs(IDENTITY) do
            txn.http:req_set_header(name, answer.headers[name][0])
        end
        txn:set_var("txn.doorward_admitted", true)
    elseif answer.status == 401 then
        local refusal = txn:reply({ status = 401, body = answer.body })
        for _, name in ipairs(REFUSAL_HEADERS) do
            if answer.headers[name] then
                refusal:add_header(name, answer.headers[name][0])
            end
        end
        txn:done(refusal)
    end
end, 1)
