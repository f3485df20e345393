// Drives Firefox over WebDriver BiDi, with JavaScript off. Reads one order per line and answers each with one line.
// Arguments: the folder of the npm packages, the program, a folder for Firefox's files, and the hosts of this machine.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [packages, executablePath, home, ...hosts] = process.argv.slice(2);
const puppeteer = createRequire(`${packages}/`)("puppeteer-core");
const PATIENCE_MS = 60_000;

const browser = await puppeteer.launch({
    browser: "firefox",
    executablePath,
    headless: true,
    // The test's own authority signs the certificates.
    acceptInsecureCerts: true,
    timeout: 2 * PATIENCE_MS,
    protocolTimeout: 2 * PATIENCE_MS,
    env: { ...process.env, HOME: home },
    extraPrefsFirefox: {
        "network.dns.localDomains": hosts.join(","),
        "network.http.http3.enable": false,
        "network.proxy.type": 0,
        "javascript.enabled": false,
    },
});

// Goes to a link or a button by the keyboard and presses it. A click of Puppeteer needs JavaScript.
async function press(page, selector) {
    await page.$eval(selector, (element) => element.focus());
    await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
}

async function follow({ link, other, name, email, password }) {
    const context = await browser.createBrowserContext();
    try {
        const page = await context.newPage();
        page.setDefaultTimeout(PATIENCE_MS);
        page.setDefaultNavigationTimeout(PATIENCE_MS);
        await page.goto(link);
        const asked = page.url();
        await press(page, "main a[href*='/sign-up']");
        for (const [field, value] of Object.entries({ name, email, password })) {
            await page.$eval(`main input[name='${field}']`, (element) => element.focus());
            await page.keyboard.type(value);
        }
        await press(page, "main form button");
        const signedUp = page.url();
        await page.goto(other);
        return { asked, signedUp, other: page.url() };
    } finally {
        await context.close();
    }
}

for await (const line of createInterface({ input: process.stdin })) {
    const result = await follow(JSON.parse(line)).catch((error) => ({ error: String(error) }));
    console.log(JSON.stringify(result));
}
await browser.close();
