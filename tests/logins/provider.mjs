// A real provider: npm oidc-provider with `iss`, `sid`, `auth_time`, acr and amr, and back-channel logout.
// `node provider.mjs PACKAGES PORT CLIENTS`, where CLIENTS is JSON. A POST of JSON to /control replaces what tests choose:
// `people`, by their login name: their claims, and `acr` and `amr` of their sign-in; `reach`, the port of each origin of a client.
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [packages, port, clients] = process.argv.slice(2);
const { Provider } = await import(pathToFileURL(createRequire(`${packages}/package.json`).resolve("oidc-provider")));

const issuer = `http://127.0.0.1:${port}`;
let chosen = { people: {}, reach: {} };

// Logout tokens arrive as through the proxy of the client.
function send(url, { dispatcher, ...options } = {}) {
  const { origin, host, pathname, search } = new URL(url);
  const headers = new Headers(options.headers);
  headers.set("x-forwarded-proto", "https");
  headers.set("x-forwarded-host", host);
  const own = chosen.reach[origin];
  return own ? fetch(`http://127.0.0.1:${own}${pathname}${search}`, { ...options, headers }) : fetch(url, options);
}

const provider = new Provider(issuer, {
  clients: JSON.parse(clients).map((client) => ({
    backchannel_logout_session_required: true,
    require_auth_time: true,
    ...client,
  })),
  features: { devInteractions: { enabled: false }, backchannelLogout: { enabled: true }, rpInitiatedLogout: { enabled: true } },
  claims: {
    openid: ["sub", "acr", "amr"],
    email: ["email", "email_verified"],
    profile: ["name", "groups"],
    ...{ sid: null, auth_time: null, iss: null },
  },
  // Otherwise only userinfo has the claims of scopes.
  conformIdTokenClaims: false,
  acrValues: ["1", "2"],
  cookies: { keys: ["of the tests"] },
  fetch: send,
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, ...chosen.people[id]?.claims }) }),
  // Nobody is asked what the client may know.
  async loadExistingGrant({ oidc }) {
    const grant = new oidc.provider.Grant({ accountId: oidc.session.accountId, clientId: oidc.client.clientId });
    grant.addOIDCScope("openid email profile");
    await grant.save();
    return grant;
  },
});
provider.on("server_error", (_, error) => console.log("error", error));
provider.on("backchannel.error", (_, error) => console.log("logout error", error.message, error.cause));
provider.on("backchannel.success", (_, client) => console.log("logout token taken by", client.clientId));

const PAGE = `<!doctype html><html lang="en"><title>Sign in</title><h1>Example SSO</h1>
<form method="post"><input name="login" aria-label="Login"><button>Sign in</button></form></html>`;
const handle = provider.callback();

async function body(request) {
  const parts = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts).toString();
}

async function answer(request, response) {
  if (request.url === "/control") {
    chosen = { ...chosen, ...JSON.parse(await body(request)) };
    return response.end();
  }
  if (!request.url.startsWith("/interaction/")) return handle(request, response);
  if (request.method === "GET") return response.setHeader("content-type", "text/html").end(PAGE);
  const accountId = new URLSearchParams(await body(request)).get("login");
  const result = accountId
    ? { login: { accountId, acr: chosen.people[accountId]?.acr, amr: chosen.people[accountId]?.amr } }
    : { error: "access_denied", error_description: "the person has left the page" };
  return provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
}

createServer((request, response) => {
  answer(request, response).catch((error) => {
    console.log("error", error);
    response.writeHead(500).end();
  });
}).listen(Number(port), "127.0.0.1", () => console.log("listening"));
