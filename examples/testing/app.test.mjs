// Tests of app.mjs: doorward dev --users users.jsonl -- node --test
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { app } from "./app.mjs";

// `doorward dev` sets it for the command that it runs.
const doorward = process.env.DOORWARD_URL;
let server, reports;

async function call(url, { method = "POST", token, body } = {}) {
  const headers = { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) };
  const answer = await fetch(url, { method, headers, body: body && JSON.stringify(body) });
  const text = await answer.text();
  return { status: answer.status, text, json: text.startsWith("{") || text.startsWith("[") ? JSON.parse(text) : undefined };
}

const read = (token) => call(reports, { method: "GET", token });

async function tokenOf(user) {
  return (await call(`${doorward}/dev/sign-in`, { body: { user } })).json.token;
}

before(async () => {
  server = app(doorward);
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  reports = `http://127.0.0.1:${server.address().port}/`;
});
after(() => server.close());

// Each test starts with the users of users.jsonl, the time of the system and nothing else.
beforeEach(() => call(`${doorward}/dev/reset`));

test("analysts read reports and others do not", async () => {
  assert.equal((await read()).status, 401);
  assert.equal((await read(await tokenOf("bob@example.com"))).status, 401);
  assert.equal((await read(await tokenOf("ada@example.com"))).text, "Reports for Ada Lovelace");
});

test("a token expires after a day", async () => {
  const token = await tokenOf("ada@example.com");
  assert.equal((await read(token)).status, 200);
  await call(`${doorward}/dev/clock`, { body: { advance: "24h" } });
  assert.equal((await read(token)).status, 401);
});

test("a user sets a new password with the code of a mail", async () => {
  const email = "bob@example.com";
  await call(`${doorward}/api/auth/forgot`, { body: { email } });
  const [mail] = (await call(`${doorward}/dev/mail`, { method: "GET" })).json;
  assert.equal(mail.to, email);
  const password = "a new password";
  await call(`${doorward}/api/auth/reset`, { body: { email, code: mail.code, password } });
  assert.equal((await call(`${doorward}/api/auth/login`, { body: { email, password } })).status, 200);
});
