// Recording for the README. Each picture joins the matrix and the load's latency with event marks.
import { LabClient, readControlToken } from "@isochrone/lab/testing";
import type { Page } from "playwright-core";
import type { EmbeddedSystem } from "../harness/embedded.ts";
import { toAnimation } from "./animation.ts";
import type { Frame } from "./animation.ts";

/** Slow enough to be obvious on a page and in a latency. */
const SLOW_MS = 250;
/** Interval between two pictures. */
const EVERY_MS = 2_000;
/** Display time of a picture, of the first with a caption, and of the very first. */
const SHOWN_MS = 500;
const CAPTION_MS = 2_000;
const STILL_MS = 6_000;
/** Five minutes, because a busy machine is slow. */
const MOST_PICTURES = 150;
/** Number of pictures per caption, evenly spaced. */
const KEPT = 6;

type Pause = (ms: number) => Promise<void>;

/** Pages of the same cluster at their paths, and one to join them on. */
interface Stage {
  readonly matrix: Page;
  readonly overview: Page;
  readonly canvas: Page;
}

interface Timeline {
  readonly points: readonly { readonly at: string; readonly p95Ms: number | null }[];
  readonly marks: readonly { readonly at: string; readonly kind: string }[];
}

/**
 * The first picture shows the end of the story, for readers without animation.
 * @param link that most calls cross
 */
export async function recordStory(
  system: EmbeddedSystem,
  { source, target }: { readonly source: string; readonly target: string },
  stage: Stage,
  pause: Pause,
): Promise<Buffer> {
  const lab = new LabClient(system.urls.lab, {
    token: await readControlToken(system.urls.lab, process.env),
  });
  const timeline = (): Promise<Timeline> => system.get("lab", "/lab/v1/timeline");
  const newestMs = async (): Promise<number> => (await timeline()).points.at(-1)?.p95Ms ?? Number.NaN;
  const { nodes, rttMs } = await lab.matrix();
  const healthyMs = rttMs[nodes.indexOf(source)]![nodes.indexOf(target)]!;
  const frames: Frame[] = [];
  const record = async (caption: string, isOver: (pictures: number) => Promise<boolean>): Promise<void> => {
    const pngs: Buffer[] = [];
    for (let picture = 1; ; picture++) {
      pngs.push(await composed(stage, caption));
      if (await isOver(picture)) break;
      if (picture === MOST_PICTURES)
        throw new Error(`"${caption}" must be over within ${(MOST_PICTURES * EVERY_MS) / 1_000} s`);
      await pause(EVERY_MS);
    }
    frames.push(...evenly(pngs).map((png, at) => ({ png, ms: at === 0 ? CAPTION_MS : SHOWN_MS })));
  };

  await record("1  Isochrone has placed the workflow.", async (pictures) => pictures === 2);
  const beganAt = Date.now();
  let slowedMs = 0;
  const noteSlowed = async (): Promise<void> => {
    slowedMs = Math.max(slowedMs, await newestMs());
  };
  await lab.setLink(source, target, { rttMs: SLOW_MS });
  const slow = `${source} – ${target} becomes slow: ${healthyMs.toFixed(0)} → ${SLOW_MS} ms`;
  await record(`2  ${slow}.`, async () => {
    await noteSlowed();
    return (await medianMs(system, source, target)) > SLOW_MS / 2;
  });
  await record("3  The matrix shows it, and requests take longer.", async () => {
    await noteSlowed();
    const { marks } = await timeline();
    return marks.some(({ kind, at }) => kind === "move" && Date.parse(at) > beganAt);
  });
  await record("4  Pods move away from the slow link.", async (pictures) => {
    const { points, marks } = await timeline();
    const movedAt = Date.parse(marks.findLast(({ kind }) => kind === "move")!.at);
    const last = points.at(-1)!;
    return pictures > 3 && Date.parse(last.at) > movedAt + 12_000 && last.p95Ms! < slowedMs / 2;
  });
  const fell = `${slowedMs.toFixed(0)} → ${(await newestMs()).toFixed(0)} ms`;
  await record(`5  p95 has fallen: ${fell}. The link is still slow.`, async (pictures) => pictures === 3);
  const still = await composed(stage, `A link becomes slow (✕), pods move away (▲), p95 falls: ${fell}.`);
  return toAnimation([{ png: still, ms: STILL_MS }, ...frames]);
}

function evenly(pngs: readonly Buffer[]): Buffer[] {
  if (pngs.length <= KEPT) return [...pngs];
  return Array.from({ length: KEPT }, (_, at) => pngs[Math.round((at * (pngs.length - 1)) / (KEPT - 1))]!);
}

async function composed({ matrix, overview, canvas }: Stage, caption: string): Promise<Buffer> {
  const [left, right] = await Promise.all([
    matrix.locator("#matrix").screenshot(),
    overview.locator('section[aria-labelledby="latency-title"]').screenshot(),
  ]);
  const image = (png: Buffer): string => `<img src="data:image/png;base64,${png.toString("base64")}">`;
  await canvas.setContent(
    `<style>body{margin:0;padding:14px;font:600 19px system-ui,sans-serif;color:#1c2733;background:#fff}
    p{margin:0 0 12px}div{display:flex;gap:14px;align-items:flex-start}img{display:block;height:430px}</style>
    <p>${caption}</p><div>${image(left)}${image(right)}</div>`,
  );
  await canvas.evaluate("Promise.all([...document.images].map((image) => image.decode()))");
  return canvas.screenshot();
}

/** NaN without measurements: neither slow nor healed. */
async function medianMs(system: EmbeddedSystem, source: string, target: string): Promise<number> {
  const { links } = await system.cluster();
  const medians = links.flatMap(({ rttMs, ...link }) =>
    link.source === source && link.target === target && rttMs.p50 !== null ? [rttMs.p50] : [],
  );
  // A busy machine delays single methods, but a slow link delays all of them.
  return medians.length === 0 ? Number.NaN : Math.min(...medians);
}
