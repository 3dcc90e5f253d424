import type { Part } from "@isochrone/runtime";
import type { BuildInputs } from "../domain/graphs/graph-keeper.ts";
import type { ReadLatencies } from "../domain/graphs/node-latencies.ts";
import type { DeclaredCosts } from "@isochrone/topology";
import { pollDeclaredCosts, type DeclaredCostsOptions } from "./declared-costs.ts";
import { pollLatencies, type LatenciesOptions } from "./latencies.ts";
import type { PolledObject } from "./polled-object.ts";

/** Declared inputs: the NetworkTopology's declared weights, and latencies in a ConfigMap. */
export class Declarations {
  readonly #costs: PolledObject<DeclaredCosts | null> | null;
  readonly #latencies: PolledObject<ReadLatencies> | null;

  constructor(options: DeclaredCostsOptions & LatenciesOptions) {
    this.#costs = pollDeclaredCosts(options);
    this.#latencies = pollLatencies(options);
  }

  get parts(): readonly Part[] {
    return [
      { name: "weights", service: this.#costs },
      { name: "latencies", service: this.#latencies },
    ];
  }

  pending(): string[] {
    return [
      ...(this.#costs?.wasRead === false ? ["waiting for the NetworkTopology"] : []),
      ...(this.#latencies?.wasRead === false ? ["waiting for the ConfigMap of latencies"] : []),
    ];
  }

  inputs(): Pick<BuildInputs, "declaredCosts" | "latencies"> {
    return {
      ...(this.#costs === null ? {} : { declaredCosts: this.#costs.current() }),
      ...(this.#latencies === null ? {} : { latencies: this.#latencies.current().pairs }),
    };
  }
}
