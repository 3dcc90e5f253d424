import { recordOf, type Draw } from "@isochrone/primitives";
import { constant, DenseNet, Tape, type NamedArray, type Parameter, type Tensor } from "@isochrone/learning";
import { Draft, type FrameView, type Orchestrator } from "../orchestrator.ts";
import type { SystemState } from "../system.ts";
import type { GpgOptions } from "./options.ts";

const EMBEDDING_UNITS = [64, 32];
const CHOICE_UNITS = [128, 64, 32];
const NETS = ["f1", "f2", "f3", "h1", "h2", "h3", "g", "q"] as const;
type NetName = (typeof NETS)[number];
const SEED_STRIDE = 101;
const FIXED_FEATURES = 6;
/** Initially embeddings are small compared to the states they are added to, and choices nearly equal. */
const EMBEDDING_SCALE = 0.5;
const CHOICE_SCALE = 0.1;

/** Observations and draws, sufficient to recompute the probabilities. */
export interface GpgDecision {
  /** s_n of each node */
  readonly observations: readonly Float32Array[];
  readonly sites: readonly (readonly number[])[];
  readonly nodes: readonly number[];
  /** Action of each, shifted to start at 0: -W to W. */
  readonly actions: readonly number[];
}

interface GpgPass {
  readonly tape: Tape;
  /** g of all nodes, and their probabilities σ. */
  readonly nodes: { readonly outputs: Tensor; readonly probabilities: Float64Array };
  /** q of all actions of each drawn node. */
  readonly actions: readonly { readonly outputs: Tensor; readonly probabilities: Float64Array }[];
}

interface GpgDeps {
  readonly services: number;
  readonly options: GpgOptions;
  readonly seed: number;
  readonly draw: Draw;
  readonly isExploring?: () => boolean;
  readonly onDecision?: (decision: GpgDecision, frame: FrameView) => void;
}

type Chooser = (probabilities: Float64Array, taken: readonly number[]) => number;

/** Learned orchestration of KaiS: a graph network over nodes, sites and the cluster. */
export class Gpg implements Orchestrator {
  readonly name = "gpg";
  readonly #deps: GpgDeps;
  readonly #nets: Readonly<Record<NetName, DenseNet>>;

  constructor(deps: GpgDeps) {
    this.#deps = deps;
    const { services, options, seed } = deps;
    const size = this.#stateSize();
    const action = options.actionInput === "number" ? 1 : services + 3;
    this.#nets = recordOf(NETS, (name, index) => {
      const isChoice = name === "g" || name === "q";
      const inputs = isChoice ? 3 * size + (name === "q" ? action : 0) : size;
      const sizes = isChoice ? [inputs, ...CHOICE_UNITS, 1] : [inputs, ...EMBEDDING_UNITS, size];
      const lastScale = isChoice ? CHOICE_SCALE : EMBEDDING_SCALE;
      return new DenseNet({
        sizes,
        seed: seed + index * SEED_STRIDE,
        activation: options.activation,
        lastScale,
      });
    });
  }

  get options(): GpgOptions {
    return this.#deps.options;
  }

  parameters(): readonly Parameter[] {
    return NETS.flatMap((name) => this.#nets[name].parameters());
  }

  arrays(): NamedArray[] {
    return NETS.flatMap((name) =>
      this.#nets[name]
        .parameters()
        .map(({ shape, values }, at) => ({ name: `gpg.${name}.${at}`, shape, values })),
    );
  }

  decide(frame: FrameView): Draft["changes"] {
    const { options, draw, isExploring, onDecision } = this.#deps;
    const { selection, action } =
      isExploring?.() === true ? ({ selection: "sample", action: "sample" } as const) : options;
    const observations = frame.state.nodes.map((_, node) => this.#observe(frame, node));
    const sites = frame.state.sites.map(({ nodes }) => nodes.map(({ index }) => index));
    const nodes: number[] = [];
    const actions: number[] = [];
    this.pass(
      { observations, sites },
      {
        node: (probabilities, taken) => keep(nodes, choice(selection, probabilities, taken, draw)),
        action: (probabilities) => keep(actions, choice(action, probabilities, [], draw)),
      },
    );
    onDecision?.({ observations, sites, nodes, actions }, frame);
    return this.#changes(frame.state, nodes, actions);
  }

  again(decision: GpgDecision): GpgPass {
    let [node, action] = [0, 0];
    return this.pass(decision, {
      node: () => decision.nodes[node++]!,
      action: () => decision.actions[action++]!,
    });
  }

  pass(
    { observations, sites }: Pick<GpgDecision, "observations" | "sites">,
    choose: { readonly node: Chooser; readonly action: Chooser },
  ): GpgPass {
    const tape = new Tape();
    const { x, context } = this.#embedded(tape, observations, sites);
    const outputs = this.#nets.g.through(tape, tape.join(x.map((one, node) => [one, ...context[node]!])));
    const probabilities = softmax(outputs.values);
    const taken: number[] = [];
    for (let k = 0; k < Math.min(this.#deps.options.nodes, x.length); k++)
      taken.push(choose.node(probabilities, taken));
    const actions = taken.map((node) => {
      const q = this.#nets.q.through(tape, tape.join(this.#actionRows([x[node]!, ...context[node]!])));
      const chances = softmax(q.values);
      choose.action(chances, []);
      return { outputs: q, probabilities: chances };
    });
    return { tape, nodes: { outputs, probabilities }, actions };
  }

  /** (8): nodes of a site in turn, then sites, then the cluster. */
  #embedded(
    tape: Tape,
    observations: readonly Float32Array[],
    sites: readonly (readonly number[])[],
  ): { readonly x: readonly Tensor[]; readonly context: readonly (readonly Tensor[])[] } {
    const size = this.#stateSize();
    const { f1, f2, f3, h1, h2, h3 } = this.#nets;
    const nothing = constant(1, size, new Float32Array(size));
    const states = observations.map((observation) => constant(1, size, observation));
    const x = [...states];
    const summaries: Tensor[] = [];
    const siteOf = new Map<number, number>();
    for (const [site, group] of sites.entries()) {
      const seen = new Map(group.map((node) => [node, f1.through(tape, x[node]!)]));
      for (const node of group) {
        siteOf.set(node, site);
        const others = group.filter((other) => other !== node).map((other) => seen.get(other)!);
        const sum = others.length === 0 ? nothing : this.#sum(tape, others);
        x[node] = tape.add(h1.through(tape, sum), states[node]!);
        seen.set(node, f1.through(tape, x[node]));
      }
      const parts = group.map((node) => f2.through(tape, x[node]!));
      summaries.push(h2.through(tape, this.#sum(tape, parts)));
    }
    const cluster = this.#sum(
      tape,
      summaries.map((summary) => f3.through(tape, summary)),
    );
    const z = h3.through(tape, cluster);
    return { x, context: x.map((_, node) => [summaries[siteOf.get(node)!]!, z]) };
  }

  #sum(tape: Tape, rows: readonly Tensor[]): Tensor {
    return tape.sumOfRows(rows, this.#deps.options.aggregate === "mean" ? 1 / rows.length : 1);
  }

  #actionRows(context: readonly Tensor[]): Tensor[][] {
    const { services, options } = this.#deps;
    return Array.from({ length: 2 * services + 1 }, (_, at) => {
      const l = at - services;
      const input = new Float32Array(options.actionInput === "number" ? 1 : services + 3);
      if (options.actionInput === "number") input[0] = l / services;
      else {
        if (l !== 0) input[Math.abs(l) - 1] = 1;
        input[services + 1 + Math.sign(l)] = 1;
      }
      return [...context, constant(1, input.length, input)];
    });
  }

  #changes(state: SystemState, nodes: readonly number[], actions: readonly number[]): Draft["changes"] {
    const draft = new Draft(state);
    for (const [at, index] of nodes.entries()) {
      const l = actions[at]! - this.#deps.services;
      const node = state.nodes[index]!;
      if (l > 0) draft.add(node, l - 1, "learned");
      else if (l < 0) draft.remove(node, -l - 1, "learned");
    }
    return draft.changes;
  }

  #stateSize(): number {
    const { services, options } = this.#deps;
    return FIXED_FEATURES + services * (options.seesFailures ? 3 : 2);
  }

  /** s_n: free CPU, memory and storage, latencies, queue, and each service's queue and replicas. */
  #observe({ state, failures }: FrameView, index: number): Float32Array {
    const { services, options } = this.#deps;
    const node = state.nodes[index]!;
    const s = new Float32Array(this.#stateSize());
    const { ownSeconds, cloudSeconds } = state.network;
    s.set([
      node.freeCores / 2,
      node.freeMemoryGb / 4,
      1,
      ownSeconds * 10,
      cloudSeconds,
      node.queueLength / 10,
    ]);
    for (let service = 0; service < services; service++) {
      const at = FIXED_FEATURES + service;
      s[at] = node.waiting[service]! / 5;
      s[at + services] = (node.ready[service]! + node.starting[service]!) / 2;
      if (options.seesFailures) s[at + 2 * services] = failures[service]! / 10;
    }
    return s;
  }
}

function keep(list: number[], value: number): number {
  list.push(value);
  return value;
}

function choice(
  how: "sample" | "highest",
  probabilities: Float64Array,
  taken: readonly number[],
  draw: Draw,
): number {
  const open = probabilities.map((probability, at) => (taken.includes(at) ? 0 : probability));
  if (how === "highest") return open.indexOf(Math.max(...open));
  let left = draw() * open.reduce((sum, probability) => sum + probability, 0);
  for (const [at, probability] of open.entries()) {
    left -= probability;
    if (probability > 0 && left <= 0) return at;
  }
  return open.findLastIndex((probability) => probability > 0);
}

function softmax(values: Float32Array): Float64Array {
  const most = Math.max(...values);
  const powers = Float64Array.from(values, (value) => Math.exp(value - most));
  const sum = powers.reduce((total, power) => total + power, 0);
  return powers.map((power) => power / sum);
}
