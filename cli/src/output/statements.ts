export interface StatedWay {
  readonly workloads: readonly string[];
  readonly from: string;
  readonly to: string | null;
}

/** A failed move; null: no target, or no replacement. */
export interface StatedFailure {
  readonly workload: string;
  readonly from: string;
  readonly to: string | null;
  readonly target: string | null;
}

/** A figure before and after; null: unknown. */
interface StatedChange {
  readonly before: number | null;
  readonly after: number | null;
}

interface StatedFigures {
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
  readonly networkMs: number | null;
  readonly isClaimed: boolean;
}

export type Statement =
  | {
      readonly kind: "moving" | "moved" | "stillMoving";
      readonly count: number;
      readonly ways: readonly StatedWay[];
    }
  | { readonly kind: "moveFailed"; readonly count: number; readonly failures: readonly StatedFailure[] }
  | {
      readonly kind: "moveMeasured";
      readonly what: string;
      readonly p50Ms: StatedChange;
      readonly p95Ms: StatedChange;
      readonly failed: StatedChange;
      readonly isClaimed: boolean;
    }
  | ({ readonly kind: "placed"; readonly act: string } & StatedFigures)
  | ({
      readonly kind: "verdict";
      readonly letter: string;
      readonly act: string;
      /** Change of network time against the first act, percent; negative: less; null: not claimed. */
      readonly networkPercent: number | null;
    } & StatedFigures)
  | { readonly kind: "doubt"; readonly letter: string; readonly reason: string }
  | { readonly kind: "slowLink"; readonly source: string; readonly target: string }
  | { readonly kind: "linkNow"; readonly rttMs: number | null }
  | { readonly kind: "killNode"; readonly node: string }
  | { readonly kind: "warming"; readonly linksMeasured: number; readonly podsReady: number }
  | { readonly kind: "machine"; readonly isBusy: boolean }
  | { readonly kind: "networkDown" }
  | { readonly kind: "trouble"; readonly what: string }
  | { readonly kind: "aside" };

type Reader = (match: readonly (string | undefined)[]) => Statement | null;

const MS = String.raw`(\d+ ms|–)`;
const FIGURE = `(?:about )?${MS}`;
const SHARE = String.raw`(\d+ %|–)`;
const SAVED = String.raw`( \([+-]?\d+ %\))?`;

const PATTERNS: readonly (readonly [RegExp, Reader])[] = [
  [/^(moving|moved) (\d+) pods?: (.+)$/, ([, verb, count, rest]) => moveOf(verb!, count!, rest!)],
  [/^(\d+) moves? failed: (.+)$/, ([, count, rest]) => failuresOf(count!, rest!)],
  [/^(\d+) pods? still moving: (.+)$/, ([, count, rest]) => stillMovingOf(count!, rest!)],
  [
    new RegExp(
      String.raw`^the move of (.+?)(?: brought|:) p50 ${MS} -> ${MS}${SAVED}, p95 ${MS} -> ${MS}${SAVED}, failed requests ${SHARE} -> ${SHARE}(; not to be compared: .+)?$`,
    ),
    ([, what, a, b, saved50, c, d, saved95, e, f, doubt]) => ({
      kind: "moveMeasured",
      what: what!,
      p50Ms: changeOf(a, b),
      p95Ms: changeOf(c, d),
      failed: changeOf(e, f),
      isClaimed: doubt === undefined && (saved50 ?? saved95) !== undefined,
    }),
  ],
  [
    new RegExp(
      String.raw`^\((\w)\) (.+?) {2,}${FIGURE}${SAVED} {2,}${FIGURE}${SAVED} {2,}${FIGURE}${SAVED}\s*$`,
    ),
    ([, letter, act, network, savedNetwork, p50, saved50, p95, saved95]) => ({
      kind: "verdict",
      letter: letter!,
      act: act!,
      p50Ms: figureOf(p50),
      p95Ms: figureOf(p95),
      networkMs: figureOf(network),
      networkPercent: savedNetwork === undefined ? null : Number(/[+-]?\d+/.exec(savedNetwork)![0]),
      isClaimed: (saved50 ?? saved95 ?? savedNetwork) !== undefined,
    }),
  ],
  [
    /^\((\w)\) is (?:approximate|without p50 and p95 to compare)(?:, [^:]+ ms)?: (.+)\.$/,
    ([, letter, reason]) => ({ kind: "doubt", letter: letter!, reason: reason! }),
  ],
  [
    new RegExp(
      String.raw`^(?:pods moved: \d+; )?([a-z, ]+): network ${FIGURE} per request, (?:p50 ${FIGURE}, p95 ${FIGURE} \(\d+ requests, \d+ failed.*?\)|no request was answered yet|none of \d+ requests was answered .*?)(; (?:approximate|without p50 and p95 to compare)[^:]*: .+)?$`,
    ),
    ([, act, network, p50, p95, doubt]) => ({
      kind: "placed",
      act: act!,
      p50Ms: figureOf(p50),
      p95Ms: figureOf(p95),
      networkMs: figureOf(network),
      isClaimed: doubt === undefined && p50 !== undefined,
    }),
  ],
  [
    /^ {2}npx isochrone lab link (\S+) (\S+) --delay \d+ms(?: --lab \S+)?$/,
    ([, source, target]) => ({ kind: "slowLink", source: source!, target: target! }),
  ],
  [
    new RegExp(String.raw`^ {6}makes the link slow that most calls cross \(${MS} now\)$`),
    ([, now]) => ({ kind: "linkNow", rttMs: figureOf(now) }),
  ],
  [/^ {2}npx isochrone lab kill (\S+)(?: --lab \S+)?$/, ([, node]) => ({ kind: "killNode", node: node! })],
  [
    /^ *\d+ s: (\d+) of \d+ links measured, (\d+) of \d+ pods ready, \d+ channels seen(?:: warm)?$/,
    ([, links, pods]) => ({
      kind: "warming",
      linksMeasured: Number(links),
      podsReady: Number(pods),
    }),
  ],
  [/^the machine (is busy \(|has time again: ).*$/, ([, state]) => machineOf(state!)],
  [
    /^the emulated network is down \(.+\): all pairs fall silent until it has started again$/,
    () => ({ kind: "networkDown" }),
  ],
  [
    /^(the workflow was not placed anew|the .+? can't be read, trying again): .+$/,
    ([, what]) => ({ kind: "trouble", what: what! }),
  ],
  ...[
    /^\s*$/,
    /^isochrone: starting .+ \.\.\.$/,
    /^network: zone .+ \(.+\)$/,
    /^ {2}(?:page and graph API|API description|extender|emulator's controls) +http\S+$/,
    /^Ctrl-C ends everything\.$/,
    /^placing it anew, .+ \.\.\.$/,
    /^placed {2,}network per request {2,}p50 {2,}p95\s*$/,
    /^Without a percentage: no difference from \(a\) is known beyond the error\.$/,
    /^starting \d+ of \d+: [a-z ]+ \.\.\.$/,
    /^the page answers: http\S+ \(its figures come once everything has started\)$/,
    /^Try in another terminal:$/,
    /^ {2}http\S+$/,
    /^ {6}(?:lets a node die|shows the same in a browser)$/,
    /^Pods that are worth moving move within two windows\b.* said here\.$/,
    /^stopping \.\.\.$/,
    /^stopped$/,
  ].map((pattern) => [pattern, (): Statement => ({ kind: "aside" })] as const),
];

/** Returns null for an unknown form. */
export function readStatement(line: string): Statement | null {
  for (const [pattern, read] of PATTERNS) {
    const match = pattern.exec(line);
    if (match !== null) return read(match);
  }
  return null;
}

/** `db4, m12 x -> y; m8 y -> (no replacement yet): the reason` */
function moveOf(verb: string, count: string, rest: string): Statement | null {
  const [, text = rest] = /^((?:[^:]|:(?! ))+)(?:: .*)?$/.exec(rest) ?? [];
  const ways = text.split("; ").map(wayOf);
  if (ways.some((way) => way === null)) return null;
  const kind = verb === "moving" ? "moving" : "moved";
  return { kind, count: Number(count), ways: ways.filter((way) => way !== null) };
}

function wayOf(text: string): StatedWay | null {
  const [, names, from, to] = /^(\S+(?:, \S+)*) (\S+) -> (\S+|\(no replacement yet\))$/.exec(text) ?? [];
  if (names === undefined) return null;
  return { workloads: names.split(", "), from: from!, to: to!.startsWith("(") ? null : to! };
}

/** `db4 x -> y, not to z; m8 stays on x, not on z; m7 left x and had no ready replacement in time` */
function failuresOf(count: string, rest: string): Statement | null {
  const failures = rest.split("; ").map(failureOf);
  if (failures.some((failure) => failure === null)) return null;
  return { kind: "moveFailed", count: Number(count), failures: failures.filter((each) => each !== null) };
}

function failureOf(text: string): StatedFailure | null {
  const [, gone, left] = /^(\S+) left (\S+) and had no ready replacement in time$/.exec(text) ?? [];
  if (gone !== undefined) return { workload: gone, from: left!, to: null, target: null };
  const [, stayed, on, missed = null] = /^(\S+) stays on (\S+?)(?:, not on (\S+))?$/.exec(text) ?? [];
  if (stayed !== undefined) return { workload: stayed, from: on!, to: on!, target: missed };
  const [, workload, from, to, target = null] = /^(\S+) (\S+) -> (\S+?)(?:, not to (\S+))?$/.exec(text) ?? [];
  return workload === undefined ? null : { workload, from: from!, to: to!, target };
}

/** `db4 from x to y` */
function stillMovingOf(count: string, rest: string): Statement | null {
  const ways = rest.split("; ").map((text): StatedWay | null => {
    const [, workload, from, to = null] = /^(\S+) from (\S+?)(?: to (\S+))?$/.exec(text) ?? [];
    return workload === undefined ? null : { workloads: [workload], from: from!, to };
  });
  if (ways.some((way) => way === null)) return null;
  return { kind: "stillMoving", count: Number(count), ways: ways.filter((way) => way !== null) };
}

function machineOf(state: string): Statement {
  return { kind: "machine", isBusy: state.startsWith("is busy") };
}

const changeOf = (before: string | undefined, after: string | undefined): StatedChange => ({
  before: figureOf(before),
  after: figureOf(after),
});

const figureOf = (text: string | undefined): number | null =>
  text === undefined || text === "–" ? null : Number(text.split(" ")[0]);
