import type { EndToEnd } from "@isochrone/lab";
import { percentileLack } from "@isochrone/primitives";
import {
  isAnswered,
  rangeOf,
  savedShare,
  type ActResult,
  type Figure,
  type PlacingAct,
} from "../embedded/acts.ts";
import type { MachineState } from "../embedded/machine.ts";
import type { EndedMove, MoveGroup } from "../embedded/move-log.ts";
import type { BusyLink } from "../embedded/network-time.ts";
import type { EmbeddedUrls } from "../embedded/options.ts";
import type { Measuring, Starting, WarmUp } from "./reporter.ts";
import { table } from "./table.ts";

const ACT_NAMES: Readonly<Record<PlacingAct, string>> = {
  spread: "without knowledge of the network",
  score: "pod by pod, by score",
  plan: "the whole workflow, by plan",
};

export const actName = (act: PlacingAct): string => ACT_NAMES[act];

export function warmText({ linksMeasured, links, channels, podsReady, pods, seconds }: WarmUp): string {
  return `${seconds.toFixed(0).padStart(3)} s: ${linksMeasured} of ${links} links measured, ${podsReady} of ${pods} pods ready, ${channels} channels seen`;
}

export function startingPartText({ part, done, total }: Starting): string {
  return `starting ${done + 1} of ${total}: ${part} ...`;
}

export function servingText(page: string): string {
  return `the page answers: ${page} (its figures come once everything has started)`;
}

export function measuringText({ act, fairMs, wantedMs, allMs, patienceMs }: Measuring): string {
  const s = (all: number): string => Math.max(0, Math.round(all / 1000)).toString();
  const until = fairMs < allMs ? `; the machine was busy: until ${s(patienceMs)} s at most` : "";
  return `measuring ${s(fairMs)} of ${s(wantedMs)} s, ${actName(act)}${until}`;
}

export function latencyText({ count, errors, p50Ms, p95Ms, failure }: EndToEnd): string {
  return answeredText(`p50 ${ms(p50Ms)}, p95 ${ms(p95Ms)}`, { count, errors, failure });
}

function answeredText(
  figures: string,
  { count, errors, failure }: Pick<EndToEnd, "count" | "errors" | "failure">,
): string {
  const failed = failure === null ? `${errors} failed` : `${errors} failed: ${failure}`;
  if (count === 0 && errors === 0) return "no request was answered yet";
  if (count === 0) return `none of ${errors} requests was answered (${failure ?? "no reason known"})`;
  const lack = percentileLack(0.95, count);
  const why = lack === null ? "" : `; ${lack}`;
  return `${figures} (${count} requests, ${failed}${why})`;
}

export function resultText(result: ActResult): string {
  const { act, endToEnd, doubt } = result;
  const latency = answeredText(
    `p50 ${figureText(result, "p50Ms")}, p95 ${figureText(result, "p95Ms")}`,
    endToEnd,
  );
  const doubted = doubt === null ? "" : `; ${doubtText(result)}: ${doubt}`;
  return `${actName(act)}: network ${figureText(result, "network")} per request, ${latency}${doubted}`;
}

/** `414 ms`, or `about 414 ms` on a busy machine. */
function figureText(result: ActResult, figure: Figure): string {
  const value = figure === "network" ? result.networkMsPerRequest : result.endToEnd[figure];
  return result.doubt === null || value === null ? ms(value) : `about ${ms(value)}`;
}

function doubtText(result: ActResult): string {
  if (!isAnswered(result.endToEnd)) return "without p50 and p95 to compare";
  const spread = (["network", "p50Ms"] as const).flatMap((figure) => {
    const range = rangeOf(result, figure);
    const name = figure === "network" ? "network" : "p50";
    return range === null ? [] : [`, ${name} from ${range[0].toFixed(0)} to ${ms(range[1])}`];
  });
  return `approximate${spread.join("")}`;
}

const FIGURES: readonly Figure[] = ["network", "p50Ms", "p95Ms"];

export function verdictText(results: readonly ActResult[]): string {
  const first = results[0]!;
  let isUnclear = false;
  const rows = results.map((result, at) => {
    const cell = (figure: Figure): string => {
      const text = figureText(result, figure);
      const saved = at === 0 ? null : savedShare(first, result, figure);
      if (saved !== null) return `${text} (${percentText(-saved)})`;
      isUnclear ||= at > 0;
      return text;
    };
    return [`(${letter(at)}) ${actName(result.act)}`, ...FIGURES.map(cell)];
  });
  const doubts = results.flatMap((result, at) =>
    result.doubt === null ? [] : [`(${letter(at)}) is ${doubtText(result)}: ${result.doubt}.`],
  );
  const unclear = isUnclear
    ? ["Without a percentage: no difference from (a) is known beyond the error."]
    : [];
  return [table(["placed", "network per request", "p50", "p95"], rows), ...doubts, ...unclear].join("\n");
}

export function trialText(link: BusyLink | null, { page, lab }: EmbeddedUrls, isLive: boolean): string {
  const at = new URL(lab).port === DEFAULT_LAB_PORT ? "" : ` --lab ${lab}`;
  const trials =
    link === null
      ? []
      : [
          `  npx isochrone lab link ${link.source} ${link.target} --delay ${slowed(link.rttMs)}ms${at}`,
          `      makes the link slow that most calls cross (${ms(link.rttMs)} now)`,
        ];
  const kill =
    link === null || !isLive ? [] : [`  npx isochrone lab kill ${link.source}${at}`, "      lets a node die"];
  const after = isLive
    ? [
        "Pods that are worth moving move within two windows. What moved, why, what it brought, and which moves failed is said here.",
      ]
    : [];
  return [
    "Try in another terminal:",
    ...trials,
    ...kill,
    `  ${page}`,
    "      shows the same in a browser",
    ...after,
  ].join("\n");
}

const DEFAULT_LAB_PORT = "8082";
const SLOWED_TIMES = 4;
const SLOWED_AT_LEAST_MS = 80;
const slowed = (rttMs: number): number =>
  Math.max(SLOWED_AT_LEAST_MS, Math.ceil((SLOWED_TIMES * rttMs) / 10) * 10);

export function machineText({ isBusy, lateMs, load, cores, pace }: MachineState): string {
  if (!isBusy) return "the machine has time again: requests and probes are sent at their full rates";
  const late = `this process wakes up ${Math.round(lateMs)} ms late`;
  const rates = `1/${pace} of their rates or less`;
  return `the machine is busy (${late}, load ${load.toFixed(1)} on ${cores} cores): requests and probes are sent at ${rates} until it has time again`;
}

export function movedText({ pods, reasons }: MoveGroup): string {
  const of = (outcome: EndedMove["outcome"]): readonly EndedMove[] =>
    pods.filter((pod) => pod.outcome === outcome);
  const [moved, failed, moving] = [of("moved"), of("failed"), of("moving")];
  const ways = Map.groupBy(moved, ({ from, to }) => `${from} -> ${to}`);
  const texts = [...ways].map(([way, those]) => `${those.map(({ workload }) => workload).join(", ")} ${way}`);
  const why = reasons[0] ?? "no reason was given";
  return [
    ...(moved.length === 0 ? [] : [`moved ${plural(moved.length, "pod")}: ${texts.join("; ")}: ${why}`]),
    ...(failed.length === 0
      ? []
      : [`${plural(failed.length, "move")} failed: ${failed.map(failureText).join("; ")}`]),
    ...(moving.length === 0
      ? []
      : [`${plural(moving.length, "pod")} still moving: ${moving.map(movingText).join("; ")}`]),
  ].join("\n");
}

function failureText({ workload, from, to, target }: EndedMove): string {
  if (to === null) return `${workload} left ${from} and had no ready replacement in time`;
  if (to === from) return `${workload} stays on ${from}${target === null ? "" : `, not on ${target}`}`;
  return `${workload} ${from} -> ${to}${target === null ? "" : `, not to ${target}`}`;
}

function movingText({ workload, from, target }: EndedMove): string {
  return `${workload} from ${from}${target === null ? "" : ` to ${target}`}`;
}

function plural(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`;
}

/** Further pods are only counted. */
const NAMED_PODS = 4;

/** Makes no claims from a busy machine's figures. */
export function moveMeasuredText(
  { pods: all, before }: MoveGroup,
  after: EndToEnd,
  doubt: string | null,
): string {
  const pods = all.filter(({ outcome }) => outcome === "moved");
  const names =
    pods.length > NAMED_PODS ? `${pods.length} pods` : pods.map(({ workload }) => workload).join(", ");
  const failed = `failed requests ${failedShare(before)} -> ${failedShare(after)}`;
  if (doubt !== null)
    return `the move of ${names}: p50 ${figures(before.p50Ms, after.p50Ms)}, p95 ${figures(before.p95Ms, after.p95Ms)}, ${failed}; not to be compared: ${doubt}`;
  const [p50, p95] = [changeText(before, after, "p50Ms"), changeText(before, after, "p95Ms")];
  return `the move of ${names} brought p50 ${p50}, p95 ${p95}, ${failed}`;
}

const figures = (before: number | null, after: number | null): string => `${ms(before)} -> ${ms(after)}`;

function changeText(before: EndToEnd, after: EndToEnd, figure: "p50Ms" | "p95Ms"): string {
  const saved = savedShare(certain(before), certain(after), figure);
  const text = figures(before[figure], after[figure]);
  return saved === null ? text : `${text} (${percentText(-saved)})`;
}

const certain = (endToEnd: EndToEnd) =>
  ({ endToEnd, networkMsPerRequest: null, networkRangeMs: null, doubt: null }) as const;

function failedShare({ count, errors }: EndToEnd): string {
  return count + errors === 0 ? "–" : `${Math.round((100 * errors) / (count + errors))} %`;
}

function percentText(share: number): string {
  const percent = Math.round(100 * share);
  return `${percent > 0 ? "+" : ""}${percent} %`;
}

const letter = (at: number): string => "abc"[at] ?? "?";
const ms = (value: number | null): string => (value === null ? "–" : `${value.toFixed(0)} ms`);
