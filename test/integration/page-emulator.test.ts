// The emulator's controls on a pair's page, in a real browser with a real emulated network.
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { EmulatedNetwork, LabTimeline } from "@isochrone/lab";
import { systemClock } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import type { Page, Request } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasBrowser } from "../harness/browser.ts";
import { startPageTestbed, type PageTestbed } from "../harness/page-testbed.ts";
import { PageVisit } from "../harness/page-visit.ts";

const TOKEN = "the-token_of-this-emulator";
const A = "node-0001";
const B = "node-0002";
const LINK = { rttMs: 6, jitterMs: 0, lossRatio: 0, bandwidthBitsPerSecond: null, cut: false };

describe.runIf(hasBrowser)("the emulator's controls", () => {
  const logger = new MemoryLogger();
  let network: EmulatedNetwork;
  let testbed: PageTestbed;
  let visit: PageVisit;
  let page: Page;
  let sockets: Socket[] = [];
  const requests: Request[] = [];

  beforeAll(async () => {
    const links = [A, B].map(() => [LINK, LINK]);
    network = await EmulatedNetwork.start({ nodes: [A, B], links, logger });
    const timeline = new LabTimeline({ cluster: () => null, clock: systemClock, logger });
    testbed = await startPageTestbed({
      nodes: 2,
      zoneSize: 1,
      degree: 1,
      emulator: { network, timeline, token: TOKEN },
    });
    visit = await PageVisit.open(testbed.url);
    page = visit.page;
    page.on("request", (request) => requests.push(request));
    sockets = await exchange(network);
  }, 60_000);

  afterAll(async () => {
    for (const socket of sockets) socket.close();
    await visit?.close();
    await testbed?.stop();
    await network?.stop();
  });

  const says = () => page.locator("#emulator-says").textContent();

  test("are not there without the token, and what asks without it, or from elsewhere, is refused", async () => {
    await visit.goTo(`/pair/${A}/${B}`);
    await page.getByLabel("Token").waitFor();
    expect(await page.getByRole("button", { name: "Cut" }).count()).toBe(0);
    expect(await visit.barriers()).toEqual([]);
    const put = (headers: Record<string, string>) =>
      fetch(`${testbed.url}/lab/v1/links/${A}/${B}`, {
        method: "PUT",
        headers: { "content-type": "application/json", ...headers },
        body: '{"cut":true}',
      });
    expect((await put({})).status).toBe(401);
    expect((await put({ authorization: "Bearer wrong" })).status).toBe(401);
    // A foreign page is rejected even with the token.
    expect((await put({ authorization: `Bearer ${TOKEN}`, origin: "https://evil.example" })).status).toBe(
      403,
    );
    await page.getByLabel("Token").fill("not-the-token-at-all");
    await page.getByRole("button", { name: "Use it" }).click();
    await expect.poll(says).toContain("The emulator's token is refused: it belongs to another cluster");
    await page.getByLabel("Token").waitFor();
    expect(await page.getByRole("button", { name: "Cut" }).count()).toBe(0);
    expect(network.link(A, B)).toEqual(LINK);
    visit.faults.splice(0);
  });

  test.each([
    ["WRONG", "it must have 16 to 200 letters, digits, - and _, got 5 characters"],
    ["%3Cb%3E", "got 3 characters"],
    ["", "got 0 characters"],
    ["the-token_of-another-emulator", "it belongs to another cluster, or to an earlier run"],
  ])("refuse the token %j of an address at once, on every page, with the next step", async (token, why) => {
    for (const place of ["", "network", "health", `pair/${A}/${B}`]) {
      await page.goto("about:blank");
      await page.goto(`${testbed.url}/#/${place}?emulator=${token}`);
      const mistake = page.locator("#token-mistake, #emulator-says");
      await expect.poll(() => mistake.textContent(), { timeout: 10_000 }).toContain(why);
      expect(await mistake.textContent()).toContain("page with controls");
      expect(await mistake.textContent()).toContain("isochrone/lab-PORT.token");
      expect(page.url()).not.toContain("emulator");
      expect(await page.evaluate("sessionStorage.length")).toBe(0);
    }
    await visit.goTo("/network");
    expect(await visit.barriers()).toEqual([]);
    await page.getByRole("button", { name: "Close" }).click();
    await expect.poll(() => page.locator("#token-mistake").count()).toBe(0);
    visit.faults.splice(0);
  });

  test("slow a link, and the emulator's record of the packets says so", async () => {
    requests.splice(0);
    await page.goto(`${testbed.url}/#/pair/${A}/${B}?emulator=${TOKEN}`);
    await page.getByRole("spinbutton", { name: "Round trip" }).fill("90");
    expect(page.url()).toBe(`${testbed.url}/#/pair/${A}/${B}`);
    await page.getByRole("button", { name: "Slow" }).click();
    await expect.poll(says).toContain("The round trip is 90 ms now");
    expect(network.link(A, B).rttMs).toBe(90);
    expect(network.link(B, A).rttMs).toBe(90);
    await expect.poll(() => slowest(network), { timeout: 20_000 }).toBeGreaterThan(85);
    await expect
      .poll(() => page.locator("#emulated").textContent(), { timeout: 20_000 })
      .toContain("90 ms; at the start: 6 ms");
    expect(await visit.barriers()).toEqual([]);
  });

  test("send the token to this server's own address for changes, and nowhere else", () => {
    const withToken = requests.filter((request) => JSON.stringify(request.headers()).includes(TOKEN));
    expect(withToken.map((request) => [request.method(), request.url()])).toEqual([
      ["GET", `${testbed.url}/lab/v1/token`],
      ["PUT", `${testbed.url}/lab/v1/links/${A}/${B}`],
    ]);
    expect(requests.filter((request) => request.url().includes(TOKEN))).toEqual([]);
    expect(new Set(requests.map((request) => new URL(request.url()).origin))).toEqual(new Set([testbed.url]));
  });

  test("lose packets, cut, and heal to what it was at the start", async () => {
    await page.getByLabel("Loss").fill("25");
    await page.getByRole("button", { name: "Lose packets" }).click();
    await expect.poll(() => network.link(B, A).lossRatio).toBe(0.25);
    await page.getByRole("button", { name: "Cut" }).click();
    await expect.poll(() => network.link(A, B).cut).toBe(true);
    await expect.poll(says).toContain("Cut");
    await page.getByRole("button", { name: "Heal" }).click();
    await expect.poll(says).toContain("Healed");
    expect([network.link(A, B), network.link(B, A)]).toEqual([LINK, LINK]);
    expect(visit.faults).toEqual([]);
  });

  test("don't lose a click while the page still asks what the link was like", async () => {
    let answer!: () => void;
    const isAsked = new Promise<void>((resolve) => (answer = resolve));
    await page.route(`**/lab/v1/links/${A}/${B}`, async (route) => {
      if (route.request().method() === "GET") await isAsked;
      await route.fallback();
    });
    await page.goto("about:blank");
    await page.goto(`${testbed.url}/#/pair/${A}/${B}?emulator=${TOKEN}`);
    await page.getByRole("button", { name: "Cut" }).click();
    await expect.poll(() => network.link(A, B).cut).toBe(true);
    const heal = page.getByRole("button", { name: "Heal" });
    expect(await heal.isDisabled()).toBe(true);
    const healed = heal.click();
    answer();
    await healed;
    await expect.poll(says).toContain("Healed");
    expect(network.link(A, B)).toEqual(LINK);
    await page.unrouteAll({ behavior: "wait" });
    expect(visit.faults).toEqual([]);
  });

  test("leave marks on the overview", async () => {
    await visit.goTo("/overview");
    await expect.poll(() => page.locator("main").textContent()).toContain("No requests yet");
    const timeline = (await (await fetch(`${testbed.url}/lab/v1/timeline`)).json()) as {
      readonly marks: readonly { readonly kind: string }[];
    };
    expect(timeline.marks.length).toBeGreaterThanOrEqual(8);
  });
});

/** Sends packets from A to B and back over the emulated link, ten times per second. */
async function exchange(network: EmulatedNetwork): Promise<Socket[]> {
  const responder = createSocket("udp4");
  responder.on("message", (packet, from) => responder.send(packet, from.port, from.address));
  responder.bind(0, network.nodeAddress(B));
  await once(responder, "listening");
  const { port } = responder.address();
  await network.expose(B, { protocol: "udp", port });
  const client = createSocket("udp4");
  const to = network.resolve(A, B, { protocol: "udp", port });
  client.on("error", () => undefined);
  client.connect(to.port, to.host);
  await once(client, "connect");
  const timer = setInterval(() => client.send("x"), 100);
  client.on("close", () => clearInterval(timer));
  return [client, responder];
}

/** Median of packets in the last two seconds, by the relay's record. */
async function slowest(network: EmulatedNetwork): Promise<number> {
  const pairs = await network.record({ lastMs: 2_000 });
  return pairs.find(({ source, target }) => source === A && target === B)?.udp.p50Ms ?? 0;
}
