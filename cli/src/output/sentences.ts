// What is said of the embedded cluster, in words: the same on a terminal and in a file.
import type { EndToEnd } from "@isochrone/lab";
import { percentileLack } from "@isochrone/primitives";
import { savedShare, type ActResult, type PlacingAct } from "../embedded/acts.ts";
import type { MachineState } from "../embedded/machine.ts";
import type { EndedMove, MoveGroup } from "../embedded/move-log.ts";
import type { BusyLink } from "../embedded/network-time.ts";
import type { EmbeddedUrls } from "../embedded/options.ts";
import type { WarmUp } from "./reporter.ts";
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

export function latencyText({ count, errors, p50Ms, p95Ms, failure }: EndToEnd): string {
  const failed = failure === null ? `${errors} failed` : `${errors} failed: ${failure}`;
  if (count === 0 && errors === 0) return "no request was answered yet";
  if (count === 0) return `none of ${errors} requests was answered (${failure ?? "no reason known"})`;
  const lack = percentileLack(0.95, count);
  const why = lack === null ? "" : `; ${lack}`;
  return `p50 ${ms(p50Ms)}, p95 ${ms(p95Ms)} (${count} requests, ${failed}${why})`;
}

export function resultText({ act, endToEnd, networkMsPerRequest, doubt }: ActResult): string {
  const doubted = doubt === null ? "" : `; not to be compared: ${doubt}`;
  return `${actName(act)}: ${latencyText(endToEnd)}, network ${ms(networkMsPerRequest)} per request${doubted}`;
}

/** A line for each act, with what it saves against the first one, and a line for what can't be compared. */
export function verdictText(results: readonly ActResult[]): string {
  const first = results[0]!;
  const rows = results.map((result, at) => {
    const cell = (figure: "p50Ms" | "p95Ms" | "network"): string => {
      const value = figure === "network" ? result.networkMsPerRequest : result.endToEnd[figure];
      const saved = at === 0 ? null : savedShare(first, result, figure);
      return saved === null ? ms(value) : `${ms(value)} (${percentText(-saved)})`;
    };
    return [`(${letter(at)}) ${actName(result.act)}`, cell("p50Ms"), cell("p95Ms"), cell("network")];
  });
  const doubts = results.flatMap(({ doubt }, at) =>
    doubt === null ? [] : [`(${letter(at)}) says little about its placement: ${doubt}.`],
  );
  return [table(["placed", "p50", "p95", "network per request"], rows), ...doubts].join("\n");
}

/** What to try next. */
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

/** Which pods moved where and why, and which moves failed. */
export function movedText({ pods, reasons }: MoveGroup): string {
  const of = (outcome: EndedMove["outcome"]): readonly EndedMove[] =>
    pods.filter((pod) => pod.outcome === outcome);
  const [moved, failed, moving] = [of("moved"), of("failed"), of("moving")];
  const ways = Map.groupBy(moved, ({ from, to }) => `${from} -> ${to}`);
  const texts = [...ways].map(([way, those]) => `${those.map(({ workload }) => workload).join(", ")} ${way}`);
  // Of a move in stages the first reason is that of the whole move.
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
  if (to === null) return `${workload} left ${from} and has no ready replacement`;
  if (to === from) return `${workload} stays on ${from}${target === null ? "" : `, not on ${target}`}`;
  return `${workload} ${from} -> ${to}${target === null ? "" : `, not to ${target}`}`;
}

function movingText({ workload, from, target }: EndedMove): string {
  return `${workload} from ${from}${target === null ? "" : ` to ${target}`}`;
}

function plural(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`;
}

/** More pods than these are counted. */
const NAMED_PODS = 4;

/** Figures of a busy machine are told, and nothing is claimed of them. */
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
  return `the move of ${names} brought p50 ${change(before.p50Ms, after.p50Ms)}, p95 ${change(before.p95Ms, after.p95Ms)}, ${failed}`;
}

const figures = (before: number | null, after: number | null): string => `${ms(before)} -> ${ms(after)}`;

function change(before: number | null, after: number | null): string {
  return before === null || after === null || before <= 0
    ? figures(before, after)
    : `${figures(before, after)} (${percentText((after - before) / before)})`;
}

function failedShare({ count, errors }: EndToEnd): string {
  return count + errors === 0 ? "–" : `${Math.round((100 * errors) / (count + errors))} %`;
}

/** `-47 %`, `+3 %` */
function percentText(share: number): string {
  const percent = Math.round(100 * share);
  return `${percent > 0 ? "+" : ""}${percent} %`;
}

const letter = (at: number): string => "abc"[at] ?? "?";
const ms = (value: number | null): string => (value === null ? "–" : `${value.toFixed(0)} ms`);
