import type { Target } from "@isochrone/collector/testing";
import type { ChannelDraw, Draw, Life, NodeDraw, PodDraw } from "./draw.ts";
import { gauge, type Row } from "./rows.ts";

export interface Page {
  /** Unique; the URL that the collector requests. */
  readonly key: string;
  readonly kind: Target["kind"];
  readonly node: NodeDraw;
  /** Null: the collector's own rows name the pods. */
  readonly pod: PodDraw | null;
  readonly life: Life;
  readonly rows: ((nowMs: number) => readonly Row[])[];
}

type PageHead = Omit<Page, "rows" | "key">;

/** Pages by key. One page has rows of several channels. */
export class Pages {
  readonly #pages = new Map<string, Page>();

  add(name: string, head: PageHead, rows: (nowMs: number) => readonly Row[]): void {
    const key = `http://${head.pod?.name ?? head.node.name}/${name}`;
    const page = this.#pages.get(key);
    if (page === undefined) this.#pages.set(key, { ...head, key, rows: [rows] });
    else page.rows.push(rows);
  }

  all(): Page[] {
    return [...this.#pages.values()];
  }
}

/** Process start time, as on most pages. @param beganMs start of the run */
export function processRow({ life }: Page, nowMs: number, beganMs: number): Row {
  return gauge("process_start_time_seconds", {}, (beganMs + life.bornMs(nowMs)) / 1000);
}

export function podsOf(draw: Draw, workload: string): PodDraw[] {
  return draw.pods.filter((pod) => pod.workload === workload);
}

/** Each pod of the source calls each pod of the target equally. */
export function pairsOf(
  draw: Draw,
  { source, target }: ChannelDraw,
): { from: PodDraw; to: PodDraw; share: number }[] {
  const froms = podsOf(draw, source);
  const tos = podsOf(draw, target);
  const share = 1 / (froms.length * tos.length);
  return froms.flatMap((from) => tos.map((to) => ({ from, to, share })));
}
