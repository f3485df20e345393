// A mail server of another project: smtp-server, with a login, encrypted from the first byte or by STARTTLS. Prints its port,
// then the recipients and the content of each mail as a line of JSON.
import { readFileSync } from "node:fs";
import { SMTPServer } from "smtp-server";

const [mode, keyAndCertificate, user, password] = process.argv.slice(2);
const pem = readFileSync(keyAndCertificate);
const server = new SMTPServer({
    secure: mode === "implicit",
    key: pem,
    cert: pem,
    authMethods: ["LOGIN"],
    onAuth(login, session, answer) {
        const matches = login.username === user && login.password === password;
        answer(matches ? null : new Error("wrong user or password"), { user });
    },
    onData(stream, session, answer) {
        const chunks = [];
        stream.on("data", (chunk) => chunks.push(chunk));
        stream.on("end", () => {
            const to = session.envelope.rcptTo.map(({ address }) => address);
            console.log(JSON.stringify({ to, content: Buffer.concat(chunks).toString() }));
            answer();
        });
    },
});
server.on("error", () => {});
server.listen(0, "127.0.0.1", () => console.log(server.server.address().port));
