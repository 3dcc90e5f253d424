// Makes pictures for the docs: `npm run screenshots`, from an embedded and a synthetic cluster. Arguments
// name parts (embedded streams traffic large empty broken story); none means all.
import { mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ClusterGraphSnapshot } from "@isochrone/topology";
import type { Browser, Page } from "playwright-core";
import { launchBrowser } from "../harness/browser.ts";
import { EmbeddedSystem } from "../harness/embedded.ts";
import { startPageTestbed } from "../harness/page-testbed.ts";
import { serveTraffic } from "../harness/page-traffic.ts";
import { toPalette } from "./palette.ts";
import { recordStory } from "./story.ts";

const folder = process.env["ISOCHRONE_SCREENSHOTS"] ?? join(import.meta.dirname, "../../docs/images");
const wanted = process.argv.slice(2);

const DESK = { width: 1280, height: 900 } as const;
const PHONE = { width: 400, height: 860 } as const;
const WIDE = { width: 1920, height: 1080 } as const;
type Look = "light" | "dark" | "narrow" | "wide";

function sizeOf(look: Look): { readonly width: number; readonly height: number } {
  if (look === "narrow") return PHONE;
  return look === "wide" ? WIDE : DESK;
}

async function open(browser: Browser, url: string, look: Look): Promise<Page> {
  const page = await browser.newPage({
    viewport: sizeOf(look),
    colorScheme: look === "dark" ? "dark" : "light",
    reducedMotion: "reduce",
  });
  await page.goto(url);
  return page;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function shoot(
  browser: Browser,
  url: string,
  name: string,
  looks: readonly Look[],
  until: string,
): Promise<void> {
  for (const look of looks) {
    const page = await open(browser, url, look);
    await page.waitForSelector(until, { timeout: 20_000 });
    await pause(900);
    const file = join(folder, `page-${name}-${look}.png`);
    await keep(page, file, look);
    console.log(`${file} ${statSync(file).size}`);
    await page.close();
  }
}

/** Crops a long page, because the rest has only more rows of the same tables. */
async function keep(page: Page, file: string, look: Look): Promise<void> {
  const tall = await page.evaluate<number>("document.documentElement.scrollHeight");
  const { width } = sizeOf(look);
  const height = Math.min(tall, look === "narrow" ? 1400 : 1150);
  writeFileSync(
    file,
    toPalette(await page.screenshot({ fullPage: true, clip: { x: 0, y: 0, width, height } })),
  );
}

const ALL: readonly Look[] = ["light", "dark", "narrow", "wide"];

async function streams(browser: Browser): Promise<void> {
  const system = await EmbeddedSystem.start("--streams");
  try {
    await system.event("verdict", 180_000);
    // Measurements from before the last change have left the window by then.
    await pause(30_000);
    const { page: url } = system.urls;
    await shoot(browser, `${url}/#/streams`, "streams", ALL, "#stream-jobs tbody tr");
    await shoot(browser, `${url}/#/streams/site/yard`, "stream", ["light"], "#flows tbody tr");
  } finally {
    await system.stop();
  }
}

async function traffic(browser: Browser): Promise<void> {
  const plugin = await serveTraffic();
  const settings = { decisionsUrl: plugin.url };
  const testbed = await startPageTestbed({ nodes: 6, zoneSize: 2, degree: 5, settings });
  try {
    await shoot(browser, `${testbed.url}/#/traffic`, "traffic", ALL, "#traffic tbody tr");
    await shoot(browser, `${testbed.url}/#/traffic/shop/cart`, "traffic-service", ALL, "#zones tbody tr");
  } finally {
    await testbed.stop();
    plugin.close();
  }
}

async function embedded(browser: Browser): Promise<void> {
  const system = await EmbeddedSystem.start("--acts", "spread", "score");
  try {
    await system.event("replaced", 180_000).catch(() => console.log("not replaced; going on"));
    const { page: url } = system.urls;
    const { nodes } = await system.cluster();
    const [source, target] = [nodes[0]!.name, nodes[5]!.name];
    const { decisions } = await system.decisions();
    const telling =
      decisions.find(({ explanation }) =>
        explanation.some((words) => words.startsWith("The network part decided")),
      ) ?? decisions[0]!;
    await shoot(browser, `${url}/#/overview`, "overview", ALL, ".concerns, .verdict");
    await shoot(browser, `${url}/#/network`, "network", ALL, "#matrix");
    await shoot(browser, `${url}/#/network/map`, "map", ALL, "#map circle");
    await shoot(browser, `${url}/#/network/map/${source}`, "isochrones", ALL, "#map .pod");
    await shoot(browser, `${url}/#/pair/${source}/${target}`, "pair", ALL, ".u-over");
    await shoot(browser, `${url}/#/workflows/default/sample`, "workflows", ALL, "#dag svg");
    await shoot(browser, `${url}/#/bill`, "bill", ALL, "#channels tbody tr");
    await shoot(browser, `${url}/#/decisions`, "decisions", ALL, "#decisions tbody tr");
    await shoot(browser, `${url}/#/decisions/${telling.id}`, "decision", ALL, "#candidates tbody tr");
    await shoot(browser, `${url}/#/health`, "health", ALL, "#instruments tbody tr");
    const { times } = await system.get<{ times: string[] }>("page", "/api/v1/graph/history");
    await shoot(
      browser,
      `${url}/#/network?at=${encodeURIComponent(times[1]!)}`,
      "past",
      ["light"],
      ".status.past",
    );
  } finally {
    await system.stop();
  }
}

async function large(browser: Browser): Promise<void> {
  const testbed = await startPageTestbed({
    nodes: 1000,
    zoneSize: 50,
    degree: 20,
    settings: { coordinateIntervalMs: 5_000 },
  });
  try {
    await pause(3_000);
    testbed.set(3, 4, 420);
    testbed.set(700, 701, null);
    await testbed.publish();
    // Unmeasured pairs get estimates. A pair is silent when its last response has left the window.
    for (let round = 0; round < 17 || (round < 40 && !(await hasCoordinates(testbed.url))); round++) {
      await pause(2_000);
      await testbed.publish();
    }
    const publishing = setInterval(() => void testbed.publish(), 5_000);
    await shoot(
      browser,
      `${testbed.url}/#/network?level=nodes`,
      "network-1000",
      ["light", "dark"],
      "#matrix",
    );
    await shoot(browser, `${testbed.url}/#/network?level=zones`, "network-1000-zones", ["light"], "#matrix");
    clearInterval(publishing);
  } finally {
    await testbed.stop();
  }
}

async function hasCoordinates(url: string): Promise<boolean> {
  const graph = (await (await fetch(`${url}/api/v1/graph/cluster?limit=1`)).json()) as ClusterGraphSnapshot;
  return graph.nodes.every(({ coordinate }) => coordinate !== null);
}

async function empty(browser: Browser): Promise<void> {
  const testbed = await startPageTestbed({ nodes: 0, zoneSize: 1, degree: 0 });
  try {
    await pause(2_500);
    await shoot(browser, `${testbed.url}/#/overview`, "empty-overview", ["light"], ".empty");
    await shoot(browser, `${testbed.url}/#/network`, "empty-network", ["light", "dark", "narrow"], ".empty");
    await shoot(browser, `${testbed.url}/#/workflows`, "empty-workflows", ["light"], ".empty");
    await shoot(browser, `${testbed.url}/#/streams`, "empty-streams", ["light"], ".empty");
    await shoot(browser, `${testbed.url}/#/traffic`, "empty-traffic", ["light"], ".empty");
    await shoot(browser, `${testbed.url}/#/decisions`, "empty-decisions", ["light"], ".empty");
  } finally {
    await testbed.stop();
  }
}

async function broken(browser: Browser): Promise<void> {
  const testbed = await startPageTestbed({ nodes: 8, zoneSize: 2, degree: 7 });
  await pause(2_500);
  const pages = await Promise.all(
    ALL.map(async (look) => [look, await open(browser, `${testbed.url}/#/network`, look)] as const),
  );
  for (const [, page] of pages) await page.waitForSelector("#matrix");
  await testbed.stop();
  await pause(4_000);
  for (const [look, page] of pages) {
    await page.waitForSelector(".status.bad", { timeout: 20_000 });
    await keep(page, join(folder, `page-broken-${look}.png`), look);
    await page.close();
  }
}

/** Sizes of a picture in the README and of the pages in it. */
const STORY = {
  canvas: { width: 960, height: 500 },
  matrix: { width: 620, height: 800 },
  overview: { width: 600, height: 800 },
} as const;

async function story(browser: Browser): Promise<void> {
  const system = await EmbeddedSystem.start();
  try {
    const { busiestLink } = await system.event("verdict", 900_000);
    const opened = async (viewport: { width: number; height: number }, hash: string): Promise<Page> => {
      const page = await browser.newPage({ viewport, colorScheme: "light", reducedMotion: "reduce" });
      await page.goto(hash === "" ? "about:blank" : `${system.urls.page}/#${hash}`);
      return page;
    };
    const stage = {
      canvas: await opened(STORY.canvas, ""),
      matrix: await opened(STORY.matrix, "/network"),
      overview: await opened(STORY.overview, "/overview"),
    };
    await stage.matrix.waitForSelector("#matrix", { timeout: 60_000 });
    await stage.overview.waitForSelector(".u-over", { timeout: 60_000 });
    const link = busiestLink as { readonly source: string; readonly target: string };
    const file = join(folder, "story.png");
    writeFileSync(file, await recordStory(system, link, stage, pause));
    console.log(`${file} ${statSync(file).size}`);
  } finally {
    await system.stop();
  }
}

const PARTS = { embedded, streams, traffic, large, empty, broken, story } as const;

mkdirSync(folder, { recursive: true });
const browser = await launchBrowser();
try {
  for (const [name, part] of Object.entries(PARTS))
    if (wanted.length === 0 || wanted.includes(name)) await part(browser);
} finally {
  await browser.close();
}
const total = readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
console.log(`${(total / 1e6).toFixed(2)} MB in ${folder}`);
