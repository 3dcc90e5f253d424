// Savings by zonal routing, by moving pods, and by both, each from the workflow's bill under that change.
import type { Savings, SavingsLine, SavingsOption, Workload } from "@isochrone/topology";
import { sceneSteps, type Scene } from "../bill.ts";
import { keyOf, type Billed, type BilledWorkflow, type Name } from "../billed.ts";
import { NO_CHANGE, scopesOf, type Change } from "../change.ts";
import type { Judgement, ProposedMove, SavingsInput } from "./input.ts";
import { Outcome, type Sum } from "./outcome.ts";

/** Smaller monthly savings are rounding errors. */
const LEAST_SAVING = 1e-9;

const MAX_PREFIXES = 64;

type Lines = Pick<Savings, "leftOut" | "lines">;

/** All workflows with their Services, largest saving first. Read-only; yields between short steps. */
export function* savingsInSteps(input: SavingsInput): Generator<void, Lines, void> {
  const scene = yield* sceneSteps(input.graphs);
  const lines: SavingsLine[] = [];
  let leftOut = 0;
  for (const workflow of input.graphs.workflows) {
    const found = new WorkflowSavings(input, scene, workflow);
    leftOut += found.leftOut;
    for (const line of found.lines()) {
      lines.push(line);
      yield;
    }
  }
  const best = new Map(lines.map((line) => [line, bestOf(line)]));
  return { lines: lines.sort((a, b) => best.get(b)! - best.get(a)! || byName(a, b)), leftOut };
}

function bestOf({ routing, moves, both }: SavingsLine): number {
  const options = [routing, moves, both].filter(({ isAdvised }) => isAdvised);
  return Math.max(0, ...options.map(({ savedPerMonth }) => savedPerMonth ?? 0));
}

function byName(a: SavingsLine, b: SavingsLine): number {
  return nameOf(a) < nameOf(b) ? -1 : 1;
}

function nameOf({ namespace, name, kind }: SavingsLine): string {
  return `${namespace}/${name} ${kind}`;
}

interface Steps {
  readonly services: readonly Service[];
  readonly moves: readonly ProposedMove[];
}

interface Service extends Name {
  readonly pods: Workload["pods"];
}

interface View {
  readonly service: Service | null;
  readonly today: Sum;
  of(outcome: Outcome): Sum;
}

const NOTHING: Steps = { services: [], moves: [] };

class WorkflowSavings {
  readonly leftOut: number;
  readonly #input: SavingsInput;
  readonly #scene: Scene;
  readonly #workflow: BilledWorkflow;
  readonly #channels: readonly Billed[];
  readonly #own: ReadonlyMap<string, Service>;
  readonly #services: readonly Service[];
  readonly #today: Outcome;
  readonly #moves: readonly ProposedMove[] | string;

  constructor(input: SavingsInput, scene: Scene, workflow: BilledWorkflow) {
    this.#input = input;
    this.#scene = scene;
    this.#workflow = workflow;
    const own = workflow.workloads.filter(({ namespace }) => namespace === workflow.namespace);
    this.#own = new Map(own.map((workload) => [keyOf(workload), workload]));
    this.#channels = scene.channels.filter(({ source, target }) =>
      [source, target].some((end) => this.#own.has(keyOf(end))),
    );
    const called = byTraffic(this.#channels, this.#own);
    this.#services = called.slice(0, input.maxServices);
    this.leftOut = called.length - this.#services.length;
    this.#today = this.#outcome(NOTHING);
    const found = input.movesOf(workflow);
    this.#moves = typeof found === "string" ? found : found.filter((move) => this.#isThere(move));
  }

  *lines(): Generator<SavingsLine, void, void> {
    if (this.#channels.length === 0) return;
    const found: SavingsLine[] = [];
    for (const service of this.#services) {
      const of = (outcome: Outcome): Sum => outcome.ofCallee(service);
      const line = this.#line({ service, today: of(this.#today), of }, [service]);
      found.push(line);
      yield line;
    }
    const isWorthIt = ({ routing, both }: SavingsLine): boolean => routing.isAdvised || both.isAdvised;
    const services = this.#services.filter((_, index) => isWorthIt(found[index]!));
    const whole: View = { service: null, today: this.#today.whole(), of: (outcome) => outcome.whole() };
    const refusal = found.find(({ routing }) => !routing.isAdvised)?.routing.reason ?? null;
    yield this.#line(whole, services, services.length === 0 ? refusal : null);
  }

  #line(view: View, services: readonly Service[], refusal: string | null = null): SavingsLine {
    const { service, today } = view;
    const { namespace, name } = service ?? this.#workflow;
    const proposed = typeof this.#moves === "string" ? [] : this.#moves;
    const moves =
      service === null ? proposed : proposed.filter((move) => workloadKey(move) === keyOf(service));
    const routing = this.#routing(view, services, refusal);
    const moving = this.#moving(view, moves);
    return {
      kind: service === null ? "workflow" : "service",
      namespace,
      name,
      workflow: this.#workflow.name,
      perMonth: service === null ? today.perMonth : this.#today.paidFor(service),
      roundTripMs: today.roundTripMs,
      routing,
      moves: moving,
      both: this.#both(view, { services, moves }, [routing, moving]),
    };
  }

  #routing(view: View, services: readonly Service[], refusal: string | null): SavingsOption {
    const { chosen, refused } = this.#switchable(services, []);
    if (chosen.length > 0) return this.#option(view, { services: chosen, moves: [] }, null);
    // Shows the saving even if a zone would be overloaded.
    const open = view.service === null ? [] : services.filter((service) => !this.#isNear(service));
    return this.#option(view, { services: open, moves: [] }, refused[0] ?? refusal ?? "no Service is called");
  }

  #moving(view: View, moves: readonly ProposedMove[]): SavingsOption {
    const none =
      typeof this.#moves === "string" ? this.#moves : "the planner proposes no move that could be made";
    if (moves.length === 0) return this.#option(view, NOTHING, none);
    const steps = { services: [], moves };
    return this.#option(view, steps, this.#starvingByIt(this.#outcome(steps)));
  }

  /**
   * The planner does not know the new routing: uses the prefix of its moves that saves most together with it.
   */
  #both(view: View, { services, moves }: Steps, alone: readonly SavingsOption[]): SavingsOption {
    let best: { readonly steps: Steps; readonly saved: number } | null = null;
    for (const length of prefixesOf(moves)) {
      const made = moves.slice(0, length);
      const steps = { services: this.#switchable(services, made).chosen, moves: made };
      const saved = steps.services.length === 0 ? null : this.#saved(view, this.#outcome(steps));
      if (saved !== null && (best === null || saved > best.saved + LEAST_SAVING)) best = { steps, saved };
    }
    if (best === null) return this.#option(view, NOTHING, "there is nothing to combine");
    const single = Math.max(
      ...alone.map(({ isAdvised, savedPerMonth }) => (isAdvised ? (savedPerMonth ?? 0) : 0)),
    );
    const reason = best.saved <= single + LEAST_SAVING ? "one of both alone saves as much" : null;
    return this.#option(view, best.steps, reason);
  }

  /** Services that can all switch to zonal routing at once, and reasons against the others. */
  #switchable(
    services: readonly Service[],
    moves: readonly ProposedMove[],
  ): { readonly chosen: readonly Service[]; readonly refused: readonly string[] } {
    const refused: string[] = [];
    let chosen = services.filter((service) => !this.#isNear(service));
    if (chosen.length < services.length && services.length === 1)
      refused.push(`${keyOf(services[0]!)} keeps traffic in its zone already`);
    for (;;) {
      // Zonal routing shifts the load of callees.
      const outcome = this.#outcome({ services: chosen, moves });
      const left = chosen.filter((service) => {
        const { verdict, reasons } = this.#judged(service, outcome);
        if (verdict !== "safe") refused.push(`${keyOf(service)}: ${reasons.join("; ")}`);
        return verdict === "safe";
      });
      if (left.length < chosen.length) chosen = left;
      else {
        const starving = chosen.length === 0 ? null : this.#starvingByIt(outcome);
        return starving === null ? { chosen, refused } : { chosen: [], refused: [starving, ...refused] };
      }
    }
  }

  /** A Service already routed by zone that the others would overload. */
  #starvingByIt(outcome: Outcome): string | null {
    for (const service of this.#services.filter((each) => this.#isNear(each))) {
      const [before, after] = [this.#today, outcome].map((each) => this.#judged(service, each));
      if (after!.verdict === "starves" && before!.verdict !== "starves")
        return `${keyOf(service)}: ${after!.reasons.join("; ")}`;
    }
    return null;
  }

  #option(view: View, steps: Steps, obstacle: string | null): SavingsOption {
    const isNothing = steps.services.length + steps.moves.length === 0;
    const outcome = isNothing ? this.#today : this.#outcome(steps);
    const saved = isNothing ? 0 : this.#saved(view, outcome);
    const { roundTripMs } = view.of(outcome);
    const { roundTripMs: today } = view.today;
    const reason = obstacle ?? reasonAgainst(saved);
    return {
      savedPerMonth: saved,
      roundTripMs,
      roundTripChangeMs: roundTripMs === null || today === null ? null : roundTripMs - today,
      ...this.#risk(steps, outcome),
      isAdvised: reason === null,
      reason,
      services: steps.services.map(keyOf),
      moves: [...steps.moves],
      commands: reason === null ? [...this.#input.commands(steps.services, steps.moves)] : [],
    };
  }

  #risk(steps: Steps, outcome: Outcome): Pick<SavingsOption, "headroomRatio" | "zones"> {
    const moved = new Set(steps.moves.map(workloadKey));
    const switched = new Set(steps.services.map(keyOf));
    const affected = [...this.#own.values()].filter(
      (each) => moved.has(keyOf(each)) || switched.has(keyOf(each)),
    );
    if (affected.length === 0) return { zones: null, headroomRatio: null };
    const loads = affected
      .filter((service) => switched.has(keyOf(service)) || this.#services.includes(service))
      .map((service) => {
        const { loadNow, loadThen } = this.#judged(service, outcome);
        return switched.has(keyOf(service)) || this.#isNear(service) ? loadThen : loadNow;
      });
    const known = loads.filter((load) => load !== null);
    return {
      zones: Math.min(...affected.map((each) => outcome.zonesOf(each, each.pods))),
      headroomRatio: known.length === 0 || known.length < loads.length ? null : 1 - Math.max(...known),
    };
  }

  #judged(service: Service, outcome: Outcome): Judgement {
    return this.#input.judge(service, outcome.asksOf(service), outcome.change);
  }

  /** Null: money is unknown for one of the two. */
  #saved(view: View, outcome: Outcome): number | null {
    const [before, after] = [view.today, view.of(outcome)];
    const { unpricedBytesPerSecond: unpriced } = before;
    const differs = Math.abs(after.unpricedBytesPerSecond - unpriced) > LEAST_SAVING * Math.max(1, unpriced);
    if (before.perMonth === null || after.perMonth === null || differs) return null;
    return before.perMonth - after.perMonth;
  }

  #outcome({ services, moves }: Steps): Outcome {
    const change: Change =
      services.length + moves.length === 0
        ? NO_CHANGE
        : {
            moves: new Map(moves.map((move) => [keyOf(move), move.to])),
            routing: new Map(services.map((service) => [keyOf(service), ["zone"]])),
          };
    const { table, roundTripMs } = this.#input;
    return new Outcome({ scene: this.#scene, channels: this.#channels, table, roundTripMs }, change);
  }

  #isNear(service: Service): boolean {
    const calls = this.#channels.filter(({ target }) => keyOf(target) === keyOf(service));
    return calls.every(({ target, channel }) => {
      const scopes = scopesOf(NO_CHANGE, target, channel);
      return scopes !== null && (scopes.includes("zone") || scopes.includes("node"));
    });
  }

  #isThere(move: ProposedMove): boolean {
    const pods = this.#own.get(workloadKey(move))?.pods ?? [];
    return pods.some(({ name, node }) => name === move.name && node === move.from);
  }
}

function workloadKey({ namespace, workload }: ProposedMove): string {
  return keyOf({ namespace, name: workload });
}

/** Short ones first: of equal savings, the fewest moves win. */
function prefixesOf(moves: readonly ProposedMove[]): number[] {
  if (moves.length > MAX_PREFIXES) return [moves.length];
  return Array.from(moves, (_, index) => index + 1);
}

function reasonAgainst(saved: number | null): string | null {
  if (saved === null) return "what it saves is unknown: some traffic has no price";
  if (saved < -LEAST_SAVING) return "it would cost more";
  return saved <= LEAST_SAVING ? "it would save nothing" : null;
}

function byTraffic(channels: readonly Billed[], own: ReadonlyMap<string, Service>): Service[] {
  const traffic = new Map<string, number>();
  for (const { target, channel } of channels) {
    const key = keyOf(target);
    if (own.has(key)) traffic.set(key, (traffic.get(key) ?? 0) + (channel.bytesPerSecond ?? 0));
  }
  return [...traffic]
    .sort(([a, one], [b, other]) => other - one || (a < b ? -1 : 1))
    .map(([key]) => own.get(key)!);
}
