import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { seeded, type Draw } from "@isochrone/primitives";
import {
  AS_PRINTED,
  Cmmac,
  forecast,
  Gpg,
  GPG_AS_PRINTED,
  IMPROVED,
  type CmmacOptions,
  type Decision,
  type DispatchView,
  type GpgDecision,
} from "@isochrone/dispatch";
import { readWeights, WeightsError, type NamedArray } from "@isochrone/learning";
import { SERVICES } from "../requests/classes.ts";
import type { SystemSettings } from "../requests/settings.ts";
import type { Controls } from "../simulation/simulation.ts";

export const LEARNED = ["kais", "kais-improved"] as const;
export type LearnedContender = (typeof LEARNED)[number];

/** The dispatcher's network is no contender and has its own systems. */
export const TRAINED = [...LEARNED, "endpoints"] as const;
type Trained = (typeof TRAINED)[number];

export interface TrainingPlan {
  readonly seed: number;
  readonly decisions: Readonly<Record<Trained, number>>;
  readonly system: SystemSettings;
}

export interface Nets {
  readonly cmmac: Cmmac;
  /** Null if the forecast places replicas. */
  readonly gpg: Gpg | null;
  readonly arrays: readonly NamedArray[];
}

const USES_KAIS: readonly string[] = ["kais", "cmmac-hpa", "greedy-gpg"];

const OPTIONS: Readonly<Record<LearnedContender, CmmacOptions>> = {
  kais: AS_PRINTED,
  "kais-improved": IMPROVED,
};

export function optionsOf(contender: LearnedContender): CmmacOptions {
  return OPTIONS[contender];
}

export function createNets(
  contender: LearnedContender,
  { sites, nodesPerSite }: SystemSettings,
  seed: number,
  draw: Draw,
  observers: Partial<Observers> = {},
): Nets {
  const cmmac = new Cmmac({
    shape: { sites, nodesPerSite: nodesPerSite[0]!, services: SERVICES },
    options: OPTIONS[contender],
    seed,
    draw,
    ...(observers.onDispatch === undefined ? {} : { onDecision: observers.onDispatch }),
  });
  const gpg =
    contender === "kais"
      ? new Gpg({
          services: SERVICES,
          options: GPG_AS_PRINTED,
          seed: seed + 1,
          draw,
          ...(observers.onFrame === undefined ? {} : { onDecision: observers.onFrame }),
          ...(observers.isExploring === undefined ? {} : { isExploring: observers.isExploring }),
        })
      : null;
  return { cmmac, gpg, arrays: [...cmmac.arrays(), ...(gpg?.arrays() ?? [])] };
}

interface Observers {
  readonly onDispatch: (decision: Decision, view: DispatchView) => void;
  readonly onFrame: (decision: GpgDecision) => void;
  readonly isExploring: () => boolean;
}

export function controlsOfNets({ cmmac, gpg }: Nets): Controls {
  return { dispatcher: cmmac, orchestrator: gpg ?? forecast(), knowledge: "stale" };
}

export class LearnedPolicies {
  readonly #files: Readonly<Record<LearnedContender, string>>;
  readonly #texts = new Map<LearnedContender, string>();

  constructor(files: Readonly<Record<LearnedContender, string>>) {
    this.#files = files;
  }

  /** Returns null without weights, or for another system size. Throws for corrupt weights. */
  controls(contender: LearnedContender, seed: number, settings: SystemSettings): Controls | null {
    if (new Set(settings.nodesPerSite).size > 1) return null;
    const text = this.#text(contender);
    if (text === null) return null;
    const nets = createNets(contender, settings, 0, seeded(seed));
    const subject = this.#files[contender];
    try {
      readWeights(text, { subject, kind: contender, arrays: nets.arrays });
    } catch (error) {
      if (error instanceof WeightsError && error.code === "other_shape") return null;
      throw error;
    }
    return controlsOfNets(nets);
  }

  /** Version of a contender's weights; null for a contender without any. */
  versionFor(contender: string): string | null {
    const of = contender === "kais-improved" ? contender : USES_KAIS.includes(contender) ? "kais" : null;
    const text = of === null ? null : this.#text(of);
    return text === null ? null : createHash("sha256").update(text).digest("hex").slice(0, 16);
  }

  /** Text of the file; null if it doesn't exist. */
  #text(contender: LearnedContender): string | null {
    const file = this.#files[contender];
    if (!this.#texts.has(contender)) {
      if (!existsSync(file)) return null;
      this.#texts.set(contender, readFileSync(file, "utf8"));
    }
    return this.#texts.get(contender) ?? null;
  }
}

const COMMITTED = fileURLToPath(new URL("../../../scenarios/data", import.meta.url));

export function committedWeights(contender: LearnedContender): string {
  return `${COMMITTED}/${contender}-weights.json`;
}
