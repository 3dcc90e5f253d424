import { keysOf, seeded, type Draw } from "@isochrone/primitives";
import {
  cloudAlone,
  deadline,
  firmament,
  forecast,
  greedy,
  greedyCloud,
  gspSs,
  hpa,
  kubeProxy,
  noChanges,
  preferSameZone,
  randomly,
  weighted,
  type Dispatcher,
  type Orchestrator,
  type WeightedDispatcher,
} from "@isochrone/dispatch";
import type { SystemSettings } from "./requests/settings.ts";
import type { Controls } from "./simulation/simulation.ts";
import type { LearnedPolicies } from "./training/learned.ts";

export const WHO = {
  cloud: "all requests to the cloud; replicas stay",
  random: "nodes with the service and the cloud with equal probability; replicas stay",
  "kube-proxy": "each replica with equal probability; HPA",
  "prefer-same-zone": "replicas of the own site with equal probability, others where it has none; HPA",
  greedy: "the paper's Greedy and Native: the node of lowest utilization; HPA",
  "greedy-cloud": "Greedy among idle replicas, the cloud where none is idle; HPA",
  "gsp-ss": "GSP-SS: rates of the next frame known, placement anew; replicas with equal probability",
  firmament: "Firmament's idea: a centre, 0.1 s away, assigns at least cost, the cloud included; HPA",
  kais: "KaiS as printed: cMMAC and GPG, trained together on generated requests",
  "cmmac-hpa": "KaiS's dispatch alone; HPA",
  "greedy-gpg": "KaiS's orchestration alone, under Greedy",
  "kais-improved": "cMMAC with each decision credited with its own request, other sites' load seen; forecast",
  "weights-hpa": "weights of sites once a frame; HPA",
  weights: "weights of sites once a frame; forecast",
  hints: "hints once a frame, as kube-proxy follows them; forecast",
  "isochrone-hpa": "deadline with answers and probes; HPA",
  "isochrone-own": "deadline with own requests in flight alone; forecast",
  "isochrone-answers": "deadline with load in answers; forecast",
  isochrone: "deadline with load in answers and three probes a request; forecast",
  oracle: "deadline with all load fresh, the next frame's rates known",
  "greedy-cloud-forecast": "greedy-cloud, which sees all load as it is; forecast",
  null: "greedy-cloud again, with the nodes in another order: shows what differences mean nothing",
} as const;
export type KaisContender = keyof typeof WHO;
export const KAIS_CONTENDERS: readonly KaisContender[] = keysOf(WHO);

/** One-way delay from access points to a centre. */
const CENTRE_SECONDS = 0.1;

interface RunDeps {
  readonly draw: Draw;
  readonly seed: number;
  readonly settings: SystemSettings;
  readonly learned: LearnedPolicies;
}

/** Creates policies for one run, without shared state. Null: no weights for this system. */
export function controlsOf(
  contender: KaisContender,
  seed: number,
  settings: SystemSettings,
  learned: LearnedPolicies,
): Controls | null {
  return CONTROLS[contender]({ draw: seeded(seed), seed, settings, learned });
}

const CONTROLS: Readonly<Record<KaisContender, (deps: RunDeps) => Controls | null>> = {
  cloud: () => fresh(cloudAlone(), noChanges()),
  random: ({ draw }) => fresh(randomly(draw), noChanges()),
  "kube-proxy": ({ draw }) => fresh(kubeProxy(draw), hpa()),
  "prefer-same-zone": ({ draw }) => fresh(preferSameZone(draw), hpa()),
  greedy: () => fresh(greedy(), hpa()),
  "greedy-cloud": () => fresh(greedyCloud(), hpa()),
  "greedy-cloud-forecast": () => fresh(greedyCloud(), forecast()),
  null: () => fresh(greedyCloud("last"), hpa()),
  "gsp-ss": ({ draw }) => fresh(kubeProxy(draw), gspSs()),
  firmament: ({ draw }) => ({ ...fresh(firmament(draw), hpa()), centreSeconds: CENTRE_SECONDS }),
  kais: ({ learned, seed, settings }) => learned.controls("kais", seed, settings),
  "cmmac-hpa": ({ learned, seed, settings }) =>
    partOf(learned.controls("kais", seed, settings), { orchestrator: hpa() }),
  "greedy-gpg": ({ learned, seed, settings }) =>
    partOf(learned.controls("kais", seed, settings), { dispatcher: greedy() }),
  "kais-improved": ({ learned, seed, settings }) => learned.controls("kais-improved", seed, settings),
  "weights-hpa": ({ draw }) => planned(weighted("weights", draw), hpa()),
  weights: ({ draw }) => planned(weighted("weights", draw), forecast()),
  hints: ({ draw }) => planned(weighted("hints", draw), forecast()),
  "isochrone-hpa": ({ draw }) => ({ ...fresh(deadline(draw), hpa()), knowledge: "probes" }),
  "isochrone-own": ({ draw }) => ({ ...fresh(deadline(draw), forecast()), knowledge: "own" }),
  "isochrone-answers": ({ draw }) => ({ ...fresh(deadline(draw), forecast()), knowledge: "answers" }),
  isochrone: ({ draw }) => ({ ...fresh(deadline(draw), forecast()), knowledge: "probes" }),
  oracle: ({ draw }) => fresh(deadline(draw), forecast({ knowsRates: true })),
};

function fresh(dispatcher: Dispatcher, orchestrator: Orchestrator): Controls {
  return { dispatcher, orchestrator, knowledge: "fresh" };
}

/** Recomputes weights in each frame. */
function planned(dispatcher: WeightedDispatcher, orchestrator: Orchestrator): Controls {
  return {
    ...fresh(dispatcher, orchestrator),
    onFrame: (state, perSecond) => dispatcher.plan(state, perSecond),
  };
}

function partOf(controls: Controls | null, other: Partial<Controls>): Controls | null {
  return controls === null ? null : { ...controls, ...other };
}
