// The recording of the README: a link becomes slow, the matrix shows it, the link is healed. What moves meanwhile is seen, too.
import { LabClient, readControlToken } from "@isochrone/lab";
import type { Page } from "playwright-core";
import type { EmbeddedSystem } from "../harness/embedded.ts";
import { toAnimation } from "./animation.ts";
import type { Frame } from "./animation.ts";

const SLOW_MS = 250;
/** Between two pictures. */
const EVERY_MS = 2_000;
/** How long a picture is shown. */
const SHOWN_MS = 700;
const LAST_MS = 2_500;
/** A window and a half at the demo's default. */
const MOST_PICTURES = 24;

/** Of the page that is open, of that size; resolves to an animated PNG. */
export async function recordStory(system: EmbeddedSystem, page: Page, pause: Pause): Promise<Buffer> {
  const token = await readControlToken(system.urls.lab, process.env);
  const lab = new LabClient(system.urls.lab, { token });
  const { nodes } = await system.cluster();
  const [a, b] = [nodes[0]!.name, nodes[1]!.name];
  const { nodes: names, rttMs } = await lab.matrix();
  const before = rttMs[names.indexOf(a)]![names.indexOf(b)]!;
  const frames: Frame[] = [{ png: await page.screenshot(), ms: LAST_MS }];
  await lab.setLink(a, b, { rttMs: SLOW_MS });
  await recordUntil(async () => (await medianMs(system, a, b)) > SLOW_MS / 2, page, frames, pause);
  await lab.setLink(a, b, { rttMs: before });
  await recordUntil(async () => (await medianMs(system, a, b)) < SLOW_MS / 2, page, frames, pause);
  const seen = new Set(frames.map(({ png }) => png.toString("base64"))).size;
  if (seen < LEAST_PICTURES)
    throw new Error(
      `the page must show the link before, while it is slow and healed: ${LEAST_PICTURES} pictures, got ${seen}; is the machine busy?`,
    );
  return toAnimation(frames);
}

const LEAST_PICTURES = 3;

type Pause = (ms: number) => Promise<void>;

async function recordUntil(
  isThere: () => Promise<boolean>,
  page: Page,
  frames: Frame[],
  pause: Pause,
): Promise<void> {
  for (let picture = 0; picture < MOST_PICTURES; picture++) {
    const isLast = await isThere();
    await pause(EVERY_MS);
    frames.push({ png: await page.screenshot(), ms: isLast ? LAST_MS : SHOWN_MS });
    if (isLast) return;
  }
  throw new Error(`the matrix must show the change of a link within ${(MOST_PICTURES * EVERY_MS) / 1000} s`);
}

/** NaN while nothing is measured: neither slow nor healed. */
async function medianMs(system: EmbeddedSystem, source: string, target: string): Promise<number> {
  const { links } = await system.cluster();
  const medians = links.flatMap(({ rttMs, ...link }) =>
    link.source === source && link.target === target && rttMs.p50 !== null ? [rttMs.p50] : [],
  );
  // A method that a busy machine delays says nothing of the link; a slow link delays all of them.
  return medians.length === 0 ? Number.NaN : Math.min(...medians);
}
