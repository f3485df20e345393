// An app with one page, for people whom the guard `reports` admits. Start: node app.mjs DOORWARD_URL
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";

/** The app, not yet listening. */
export function app(doorwardUrl) {
  return createServer(async (request, response) => {
    const headers = { authorization: request.headers.authorization ?? "" };
    const decision = await fetch(`${doorwardUrl}/api/auth/reports`, { headers });
    response.statusCode = decision.status;
    const name = decision.headers.get("x-auth-user-name");
    response.end(decision.ok ? `Reports for ${decodeURIComponent(name)}` : "You may not read reports.");
  });
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) app(process.argv[2]).listen(8080, "127.0.0.1");
