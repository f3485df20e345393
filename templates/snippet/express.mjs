// Express middleware that passes a request on only if Doorward admits it, and a minimal app behind it.
// Start in the folder of this file: npm install express && node express.mjs
//
// The app sees the same headers as behind a proxy: the IDENTITY headers come from Doorward, never from the client.
// `req.caller` has the same values, decoded.

import { pathToFileURL } from 'node:url';
import express from 'express';

const GUARD = 'http://{{ setup.doorward }}/api/auth/{{ setup.apps[0].guard }}';
const IDENTITY = [
{%- for name in setup.headers.copied() %}
  '{{ name }}',
{%- endfor %}
];
const REFUSAL_HEADERS = ['content-type', 'www-authenticate', 'cache-control', 'vary', 'x-decision-id'];

export async function doorward(req, res, next) {
  for (const headers of [req.headers, req.headersDistinct]) {
    for (const name of Object.keys(headers)) {
      // Some libraries read X_Auth_User_Id and X!Auth!User!Id as X-Auth-User-Id.
      const isForgeable = /[^a-z0-9-]|^(x-auth|(x-)?remote-|x-webauth-)/.test(name) || IDENTITY.includes(name);
      if (isForgeable) delete headers[name];
    }
  }

  const { answer, refusal } = await ask(req);
  if (answer?.status === 200) {
    for (const name of IDENTITY) {
      req.headers[name] = answer.headers.get(name) ?? '';
      req.headersDistinct[name] = [req.headers[name]];
    }
    const own = IDENTITY.slice(0, 5).map((name) => decodeURIComponent(req.headers[name]));
    const [id, policy, name, email, verified] = own;
    req.caller = { id, policy, name, email, emailVerified: verified === 'true' };
    next();
  } else if (answer?.status === 401) {
    for (const name of REFUSAL_HEADERS) {
      if (answer.headers.has(name)) res.setHeader(name, answer.headers.get(name));
    }
    res.status(401).end(refusal);
  } else {
    res.status(503).json({ message: 'The request could not be authorised.' });
  }
}

// Returns no answer if Doorward is unreachable or does not respond within 2 s.
async function ask(req) {
  const headers = {
    'X-Forwarded-For': req.socket.remoteAddress,
    'X-Forwarded-Proto': req.socket.encrypted ? 'https' : 'http',
    'X-Forwarded-Host': req.headers.host ?? '',
    'X-Forwarded-Method': req.method,
    'X-Forwarded-Uri': req.originalUrl,
  };
  // `req.headers` has only the first of two Authorization headers. Doorward must see both to refuse them.
  for (const name of ['authorization', 'origin', 'access-control-request-method']) {
    if (req.headersDistinct[name]) headers[name] = req.headersDistinct[name].join(', ');
  }
  try {
    const answer = await fetch(GUARD, { headers, redirect: 'manual', signal: AbortSignal.timeout(2000) });
    return { answer, refusal: await answer.text() };
  } catch {
    return {};
  }
}

export const app = express();
app.use(doorward);
app.get('/', (req, res) => res.send(`Hello, user ${req.caller.id}.\n`));

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [host, port] = '{{ setup.apps[0].address }}'.split(':');
  app.listen(port, host);
}
