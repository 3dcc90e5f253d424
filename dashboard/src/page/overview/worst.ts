// The few things that somebody should know first, each with the next step. Pure.
import { milliseconds, percent, plural } from "../model/format.ts";
import type { Place, View } from "../model/route.ts";
import type { Finding } from "../health/health-model.ts";
import { departureTexts } from "@isochrone/topology/findings";
import type { Departures } from "@isochrone/topology";
import type { Summary, WorstPair } from "../model/summary.ts";

export interface Concern {
  readonly level: "bad" | "warn";
  readonly title: string;
  /** What to do next. */
  readonly next: string;
  readonly to: { readonly place: Place; readonly view?: Partial<View> };
}

/** What the best plan would change. */
export interface Gain {
  readonly workflow: { readonly namespace: string; readonly name: string };
  /** On the slowest chain of calls, today and by the plan. */
  readonly todayMs: number;
  readonly bestMs: number;
  /** All calls of a request together. */
  readonly allTodayMs: number;
  readonly allBestMs: number;
  /** That can be made now. */
  readonly moves: number;
  /** That can't. */
  readonly blocked: number;
  /** How far the gain may be off, as a share of it. */
  readonly errorRatio: number;
}

export interface Known {
  readonly summary: Pick<Summary, "dead" | "lossy" | "lossiest">;
  /** The slowest pairs, those without an answer first. */
  readonly worst: readonly Pick<WorstPair, "source" | "target" | "isDead">[];
  /** Nodes that are down, a sentence each. */
  readonly down: readonly string[];
  readonly findings: readonly Finding[];
  /** Pairs that are not as before; null: the aggregator reports none. */
  readonly departures: Departures | null;
  /** Writes an RFC 3339 time. */
  readonly timeOf: (at: string) => string;
  readonly gain: Gain | null;
  /** What users of the embedded cluster's workflow get; null: nobody counts them here. */
  readonly requests: { readonly answered: number; readonly failed: number } | null;
}

const MOST = 3;
/** A gain that is worth a look: so much of today's time, and so many milliseconds. */
const WORTH_RATIO = 0.1;
const WORTH_MS = 1;

/** The worst first, three at most; none: all is well as far as it is known. */
export function worstOf(known: Known): Concern[] {
  const { summary, worst, down, findings, gain, requests } = known;
  const concerns: Concern[] = [];
  if (down.length > 0)
    concerns.push({
      level: "bad",
      title: down.length <= MOST ? down.join(". ") : `${down.length} nodes are down: ${down[0]!}`,
      next: "Pairs of a node that is down are left out. See its kubelet, its power and its network.",
      to: { place: { page: "health" } },
    });
  if (requests !== null && requests.failed > 0)
    concerns.push({
      level: "bad",
      title: `${requests.failed} of the last ${plural(requests.answered + requests.failed, "request")} failed`,
      next: "See in the workflow whether pods are being replaced, or can't reach each other.",
      to: { place: { page: "workflows", workflow: null } },
    });
  if (summary.dead > 0) concerns.push(silence(summary.dead, worst.find(({ isDead }) => isDead) ?? null));
  concerns.push(...changes(known), ...losses(known));
  if (gain !== null && isWorth(gain))
    concerns.push({
      level: "warn",
      title: gainTitle(gain),
      next: `See the ${plural(gain.moves, "move")}, and the command that makes them.`,
      to: { place: { page: "workflows", workflow: gain.workflow } },
    });
  // What the instruments have to say comes behind what they show, where it is equally bad.
  for (const { level, title, remedy } of findings)
    concerns.push({ level, title, next: remedy, to: { place: { page: "health" } } });
  const order = { bad: 0, warn: 1 } as const;
  return concerns.sort((a, b) => order[a.level] - order[b.level]).slice(0, MOST);
}

/** Pairs that are slower than they were, or lose more. */
function changes({ departures, timeOf }: Known): Concern[] {
  if (departures === null) return [];
  return departureTexts(departures, { arrow: "↔", timeOf })
    .slice(0, MOST)
    .map(({ text, pair }) => ({
      level: "warn",
      title: text,
      next:
        pair === null
          ? "See on the Health page whether the probes' nodes are busy."
          : "Open the pair: its history, and whether both directions changed.",
      to: { place: pair === null ? { page: "health" } : { page: "pair", ...pair } },
    }));
}

/** Losses that are too few to tell from what was before. */
function losses({ summary: { lossy, lossiest }, departures }: Known): Concern[] {
  if (lossiest === null || (departures?.counts.loss ?? 0) > 0) return [];
  const { source, target, ratio } = lossiest;
  const first = `${source} → ${target} lost ${percent(ratio)} of the newest packets`;
  return [
    {
      level: "warn",
      title: lossy === 1 ? first : `${lossy} pairs of nodes lose packets: ${first}`,
      next: "Open the pair. In the matrix by loss, see whether such pairs share a node or a zone.",
      to: { place: { page: "pair", source, target } },
    },
  ];
}

/** Pairs without an answer; one of them is named, where one is known by name. */
function silence(pairs: number, one: Known["worst"][number] | null): Concern {
  const level = "bad";
  if (one === null)
    return {
      level,
      title: `${plural(pairs, "pair")} of nodes without an answer`,
      next: "See in the matrix which ones, and whether they share a node or a zone.",
      to: { place: { page: "network", view: "matrix" }, view: { quantity: "loss" } },
    };
  const { source, target } = one;
  return {
    level,
    title:
      pairs === 1
        ? `${source} gets no answer from ${target}`
        : `${plural(pairs, "pair")} of nodes without an answer, such as ${source} → ${target}`,
    next: "Open the pair: since when, and whether the way back works.",
    to: { place: { page: "pair", source, target } },
  };
}

/** The chain is what a request waits for; a plan may shorten only calls beside it. */
function gainTitle({ workflow: { name }, todayMs, bestMs, allTodayMs, allBestMs }: Gain): string {
  return isLess(todayMs, bestMs)
    ? `The slowest chain of calls of ${name} takes ${milliseconds(todayMs)} on the network; ${milliseconds(bestMs)} would do`
    : `All calls of a request of ${name} take ${milliseconds(allTodayMs)} together; ${milliseconds(allBestMs)} would do`;
}

function isWorth({ todayMs, bestMs, allTodayMs, allBestMs }: Gain): boolean {
  return isLess(todayMs, bestMs) || isLess(allTodayMs, allBestMs);
}

const isLess = (today: number, best: number): boolean =>
  today - best >= WORTH_MS && today - best >= WORTH_RATIO * today;
