import type { Draw } from "@isochrone/primitives";
import { DenseNet, type NamedArray } from "@isochrone/learning";
import {
  chosen,
  CLOUD,
  expectedWait,
  type DispatchChoice,
  type Dispatcher,
  type DispatchRequest,
  type DispatchView,
} from "../dispatcher.ts";
import { localSize, observeLocally, type Shape } from "./observation.ts";
import type { CmmacOptions } from "./options.ts";

const ACTOR = [256, 128, 32];

export interface Decision {
  readonly request: DispatchRequest;
  readonly observation: Float32Array;
  readonly mask: Uint8Array;
  readonly action: number;
  readonly probability: number;
}

interface CmmacDeps {
  readonly shape: Shape;
  readonly options: CmmacOptions;
  readonly seed: number;
  readonly draw: Draw;
  readonly onDecision?: (decision: Decision, view: DispatchView) => void;
}

/** Learned dispatch of KaiS: one actor for all access points. */
export class Cmmac implements Dispatcher {
  readonly name = "cmmac";
  readonly actor: DenseNet;
  readonly #deps: CmmacDeps;

  constructor(deps: CmmacDeps) {
    const { shape, options, seed } = deps;
    const actions = shape.sites * shape.nodesPerSite + 1;
    this.actor = new DenseNet({ sizes: [localSize(shape, options), ...ACTOR, actions], seed });
    this.#deps = deps;
  }

  arrays(): NamedArray[] {
    return this.actor.parameters().map(({ shape, values }, at) => ({ name: `actor.${at}`, shape, values }));
  }

  choose(request: DispatchRequest, view: DispatchView): DispatchChoice {
    const { shape, options, draw, onDecision } = this.#deps;
    const observation = observeLocally(request, view, shape, options);
    const mask = this.#mask(request, view);
    const scores = scoresOf(this.actor.outputs(observation), 0, mask);
    const action = options.action === "sample" ? sampled(scores, draw) : greatest(scores, draw);
    const probability = scores[action]! / total(scores);
    onDecision?.({ request, observation, mask, action, probability }, view);
    return chosen(action === 0 ? CLOUD : action - 1, { probability });
  }

  #mask(request: DispatchRequest, view: DispatchView): Uint8Array {
    const mask = new Uint8Array(view.state.nodes.length + 1);
    mask[0] = 1;
    for (const node of view.state.nodes) {
      const isReady = node.ready[request.service]! > 0;
      const isAvailable =
        this.#deps.options.available === "ready" || (isReady && expectedWait(request, node, view) === 0);
      mask[node.index + 1] = isReady && isAvailable ? 1 : 0;
    }
    return mask;
  }
}

export function scoresOf(outputs: Float32Array, from: number, mask: Uint8Array): Float64Array {
  return Float64Array.from(mask, (isAllowed, at) =>
    isAllowed === 1 ? Math.max(0, outputs[from + at]!) + 1 : 0,
  );
}

export function total(scores: Float64Array): number {
  return scores.reduce((sum, score) => sum + score, 0);
}

function sampled(scores: Float64Array, draw: Draw): number {
  let left = draw() * total(scores);
  for (const [at, score] of scores.entries()) {
    left -= score;
    if (score > 0 && left <= 0) return at;
  }
  return scores.findLastIndex((score) => score > 0);
}

function greatest(scores: Float64Array, draw: Draw): number {
  const most = Math.max(...scores);
  const best = [...scores.keys()].filter((at) => scores[at] === most);
  return best[Math.floor(draw() * best.length)]!;
}
