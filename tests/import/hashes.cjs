// Hashes passwords with packages of Node.js. Reads {"kind": …, "passwords": […]} and prints a JSON list of hashes.
const { FirebaseScrypt } = require("firebase-scrypt");
const bcrypt = require("bcryptjs");
const aspnet = require("aspnet-identity-pw");
const { randomBytes, scryptSync } = require("node:crypto");
const { promisify } = require("node:util");

const kinds = {
    bcryptjs: (password, { cost }) => bcrypt.hashSync(password, cost),
    firebase: async (password, parameters) => {
        const salt = randomBytes(10).toString("base64");
        return { salt, hash: await new FirebaseScrypt(parameters).hash(password, salt) };
    },
    aspnet: (password) => promisify(aspnet.hashPassword)(password),
    // As Better Auth and many examples do it: the text of the salt is the salt.
    node: (password, { N, r, p }) => {
        const salt = randomBytes(16).toString("hex");
        return `${salt}:${scryptSync(password, salt, 64, { N, r, p, maxmem: 256 * N * r }).toString("hex")}`;
    },
};

async function main() {
    const { kind, passwords, parameters } = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
    const hashes = [];
    for (const password of passwords) hashes.push(await kinds[kind](password, parameters));
    console.log(JSON.stringify(hashes));
}
main();
