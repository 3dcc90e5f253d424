// What the first page says, in the words that are on the screen.
import type { Verdict } from "./findings.ts";

const MS = String.raw`(?:[\d.,\s]+ (?:ms|µs|s|min)|unreachable|–)`;
const PLURAL = String.raw`\d[\d,\s]*`;

/** Titles of what is to be looked at first. */
const CONCERNS: readonly RegExp[] = [
  new RegExp(String.raw`^${PLURAL} of the last ${PLURAL} requests? failed$`),
  new RegExp(String.raw`^${PLURAL} pairs? of nodes without an answer(?:, such as \S+ → \S+)?$`),
  /^\S+ gets no answer from \S+$/,
  new RegExp(String.raw`^${PLURAL} pairs? of nodes loses? packets$`),
  new RegExp(String.raw`^${PLURAL} pairs? of nodes lose packets$`),
  new RegExp(
    String.raw`^\S+ ↔ \S+(?:: ${MS}| loses [\d.]+ % of packets) since [\d: -]+, [\d.]+(?: %)? before; .+ over it$`,
  ),
  new RegExp(
    String.raw`^${PLURAL} of ${PLURAL} pairs of nodes (?:are slower|lose more packets) than before since .+$`,
  ),
  new RegExp(String.raw`^Requests of \S+ spend ${MS} on the network; ${MS} would do$`),
];

export const concernIsKnown = (title: string): boolean => CONCERNS.some((form) => form.test(title.trim()));

/** What happened, newest first. */
const HAPPENED: readonly RegExp[] = [
  new RegExp(String.raw`^${PLURAL} pods? moved$`),
  /^\S+: \S+ → \S+(?:, moving| failed, .+)?$/,
  /^\S+ ↔ \S+: (?:cut|healed|loses .+|.+ → .+)$/,
  /^\S+ is killed$/,
  /^the network is down: .+$/,
];

export const happenedIsKnown = (text: string): boolean => HAPPENED.some((form) => form.test(text.trim()));

/** Half of what is said to be saved, and so many ms, are left to the machine. */
const LEAST_SHARE = 0.5;
const SLACK_MS = 10;

/**
 * The tile "The best plan would save".
 * @param savedMs by the emulator, for the plan that the API has
 */
export function planTileIsTrue(value: string, savedMs: number): Verdict {
  const text = value.trim();
  if (text === "–" || text === "nothing") return null;
  const statedMs = millisecondsOf(text);
  if (Number.isNaN(statedMs)) return `"${text}" is of no known form`;
  if (savedMs >= LEAST_SHARE * statedMs - SLACK_MS) return null;
  return `by the emulator the plan saves ${savedMs.toFixed(0)} ms`;
}

/** `52 ms` or `1.2 s`, with or without a note behind it; NaN for anything else. */
export function millisecondsOf(text: string): number {
  const [, value = "", unit] = /^([\d.,\s]+)(µs|ms|s)/.exec(text.trim()) ?? [];
  if (value === "") return Number.NaN;
  const factors: Readonly<Record<string, number>> = { µs: 0.001, ms: 1, s: 1_000 };
  return Number(value.replaceAll(/[\s,]/g, "")) * factors[unit!]!;
}
