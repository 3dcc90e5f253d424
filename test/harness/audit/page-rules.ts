import type { Verdict } from "./findings.ts";

const MS = String.raw`(?:[\d.,\s]+ (?:ms|µs|s|min)|unreachable|–)`;
const PLURAL = String.raw`\d[\d,\s]*`;

const NAMES = String.raw`\S+(?:, \S+)*(?: and ${PLURAL} more)?`;
const PAIRS = String.raw`\S+ → \S+(?:, \S+ → \S+)*(?: and ${PLURAL} more)?`;
const SINCE = String.raw`since [\d: -]+`;
const forms = (...sources: readonly string[]): readonly RegExp[] =>
  sources.map((source) => new RegExp(`^${source}$`));

const CONCERNS = forms(
  String.raw`${PLURAL} of the last ${PLURAL} requests? failed`,
  String.raw`${PLURAL} pairs? of nodes without an answer(?:, such as \S+ → \S+)?`,
  String.raw`\S+ gets no answer from \S+`,
  String.raw`(?:${PLURAL} pairs of nodes lose packets: )?\S+ → \S+ lost (?:< )?[\d.]+ % of the newest packets`,
  String.raw`\S+ ↔ \S+(?:: ${MS}| loses [\d.e-]+ % of packets) ${SINCE}, [\d.e-]+(?: %)? before; .+ over it`,
  String.raw`${PLURAL} of ${PLURAL} pairs of nodes (?:are slower|lose more packets) than before ${SINCE}: .+`,
  String.raw`The slowest chain of calls of \S+ takes ${MS} on the network; ${MS} would do`,
  String.raw`All calls of a request of \S+ take ${MS} together; ${MS} would do`,
);

const POD_STATE = String.raw`(?:its pods? started elsewhere|its pod is not running yet|it had no pods to start elsewhere|${PLURAL} of its ${PLURAL} pods are not running yet)`;
const DOWN = String.raw`\S+ is (?:not ready(?: ${SINCE})?(?:; ${POD_STATE})?|silent(?: ${SINCE})?: none of its peers gets an answer)`;

/** Titles as on the Health page. A busy machine makes most of them true. */
const INSTRUMENTS = forms(
  String.raw`${DOWN}(?:\. ${DOWN})*`,
  String.raw`${PLURAL} nodes are down: .+`,
  String.raw`(?:No probe reports from|No new answers from the probe of|No peer answers|No CPU and memory usage of|Old CPU and memory usage of) ${PLURAL} nodes?: ${NAMES}`,
  String.raw`Some peers don't answer: ${PAIRS}`,
  "The aggregator isn't ready",
  String.raw`The newest graph is .+ old`,
  String.raw`${PLURAL} builds? of graphs failed`,
  String.raw`${PLURAL} replicas? of the aggregator can't be asked`,
  String.raw`${PLURAL} records wait to be read`,
  String.raw`${PLURAL} records? (?:never came|could not be used)`,
  String.raw`Publishers dropped ${PLURAL} records?`,
  String.raw`${PLURAL} points? or records were refused in the last window`,
  String.raw`${PLURAL} points? of the last window are in no graph: .+`,
  String.raw`The clock of \S+ is off by .+`,
);

export const concernIsKnown = (title: string): boolean =>
  [...CONCERNS, ...INSTRUMENTS].some((form) => form.test(title.trim()));

const HAPPENED: readonly RegExp[] = [
  new RegExp(String.raw`^${PLURAL} pods? moved$`),
  /^\S+: \S+ → \S+(?:, moving| failed, .+)?$/,
  /^\S+ ↔ \S+: (?:cut|healed|loses .+|.+ → .+)$/,
  /^\S+ is killed$/,
  /^the network is down: .+$/,
];

export const happenedIsKnown = (text: string): boolean => HAPPENED.some((form) => form.test(text.trim()));

/** Tolerance for a stated saving: half of it plus a few ms, because of noise of the machine. */
const LEAST_SHARE = 0.5;
const SLACK_MS = 10;

export function planTileIsTrue(value: string, savedMs: number): Verdict {
  const text = value.trim();
  if (text === "–" || text === "nothing") return null;
  const statedMs = millisecondsOf(text);
  if (Number.isNaN(statedMs)) return `"${text}" is of no known form`;
  if (savedMs >= LEAST_SHARE * statedMs - SLACK_MS) return null;
  return `by the emulator the plan saves ${savedMs.toFixed(0)} ms`;
}

/** Parses `52 ms` or `1.2 s`, with or without a note after it. Returns NaN for anything else. */
export function millisecondsOf(text: string): number {
  const [, value = "", unit] = /^([\d.,\s]+)(µs|ms|s)/.exec(text.trim()) ?? [];
  if (value === "") return Number.NaN;
  const factors: Readonly<Record<string, number>> = { µs: 0.001, ms: 1, s: 1_000 };
  return Number(value.replaceAll(/[\s,]/g, "")) * factors[unit!]!;
}
