import type { Part } from "@isochrone/runtime";
import type { BuildInputs } from "../graph-keeper.ts";
import { DeclaredCostsReader, type DeclaredCostsOptions } from "./declared-costs.ts";
import { LatenciesReader, type LatenciesReaderOptions } from "./latencies.ts";

/** What others say of the network, beside what is measured: the NetworkTopology's declared weights, and latencies in a ConfigMap. */
export class Declarations {
  readonly #costs: DeclaredCostsReader | null;
  readonly #latencies: LatenciesReader | null;

  constructor(options: DeclaredCostsOptions & LatenciesReaderOptions) {
    this.#costs = DeclaredCostsReader.of(options);
    this.#latencies = LatenciesReader.of(options);
  }

  get parts(): readonly Part[] {
    return [
      { name: "weights", service: this.#costs },
      { name: "latencies", service: this.#latencies },
    ];
  }

  /** What a graph would lack if it were built now. */
  pending(): string[] {
    return [
      ...(this.#costs?.wasRead === false ? ["waiting for the NetworkTopology"] : []),
      ...(this.#latencies?.wasRead === false ? ["waiting for the ConfigMap of latencies"] : []),
    ];
  }

  inputs(): Pick<BuildInputs, "declaredCosts" | "latencies"> {
    return {
      ...(this.#costs === null ? {} : { declaredCosts: this.#costs.current() }),
      ...(this.#latencies === null ? {} : { latencies: this.#latencies.current() }),
    };
  }
}
