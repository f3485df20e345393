// A provider that forges what tests ask for: npm oauth2-mock-server. `node forger.mjs PACKAGES PORT`. A POST of JSON to /control
// replaces what it forges: `claims` of the ID token (null removes one), `forge` ("none", "hs256", "unknown-key"), `redirect`
// (parameters of the way back), `discovery` (members of that document) and `keys` ("new" replaces the key, once).
import { createHmac, createPublicKey } from "node:crypto";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [packages, port] = process.argv.slice(2);
const path = createRequire(`${packages}/package.json`).resolve("oauth2-mock-server");
const { OAuth2Issuer, OAuth2Service } = await import(pathToFileURL(path));

const url = `http://127.0.0.1:${port}`;
const KEY = { kid: "only" };
let chosen = {};
let service;

function merged(into, changes = {}) {
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) delete into[name];
    else into[name] = value;
  }
}

const part = (json) => Buffer.from(JSON.stringify(json)).toString("base64url");

// The token with another signature.
async function forged(token) {
  const [, payload] = token.split(".");
  if (chosen.forge === "none") return `${part({ alg: "none", typ: "JWT" })}.${payload}.`;
  if (chosen.forge === "unknown-key") {
    const issuer = new OAuth2Issuer();
    issuer.url = url;
    await issuer.keys.generate("RS256", KEY);
    const claims = JSON.parse(Buffer.from(payload, "base64url"));
    return issuer.buildToken({ scopesOrTransform: (_, into) => merged(into, claims) });
  }
  // The public key as the secret, in the form that libraries mistake for one.
  const [jwk] = service.issuer.keys.toJSON();
  const secret = createPublicKey({ key: jwk, format: "jwk" }).export({ type: "spki", format: "pem" });
  const signed = `${part({ alg: "HS256", typ: "JWT", kid: jwk.kid })}.${payload}`;
  return `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
}

async function start() {
  const issuer = new OAuth2Issuer();
  issuer.url = url;
  await issuer.keys.generate("RS256", { kid: `key-${Date.now()}` });
  service = new OAuth2Service(issuer);
  service.on("beforeTokenSigning", ({ payload }) => merged(payload, chosen.claims));
  // Otherwise it is about somebody else.
  service.on("beforeUserinfo", ({ body }) => merged(body, chosen.claims));
  service.on("beforeAuthorizeRedirect", (redirect) => {
    for (const [name, value] of Object.entries(chosen.redirect ?? {})) redirect.url.searchParams.set(name, value);
  });
}

// What express sends, with a change of its JSON.
async function changed(request, response, change) {
  const end = response.end.bind(response);
  response.end = (body) => {
    response.end = end;
    if (response.statusCode !== 200) return end(body);
    Promise.resolve(change(JSON.parse(body))).then((json) => {
      const text = JSON.stringify(json);
      response.setHeader("content-length", Buffer.byteLength(text));
      end(text);
    });
    return response;
  };
  service.requestHandler(request, response);
}

async function answer(request, response) {
  if (request.url === "/control") {
    const parts = [];
    for await (const part of request) parts.push(part);
    chosen = JSON.parse(Buffer.concat(parts).toString());
    if (chosen.keys === "new") await start();
    return response.end();
  }
  if (request.url.startsWith("/token") && chosen.forge) {
    return changed(request, response, async (json) => ({ ...json, id_token: await forged(json.id_token) }));
  }
  if (request.url.startsWith("/.well-known/") && chosen.discovery) {
    return changed(request, response, (json) => ({ ...json, ...chosen.discovery }));
  }
  return service.requestHandler(request, response);
}

await start();
createServer(answer).listen(Number(port), "127.0.0.1", () => console.log("listening"));
