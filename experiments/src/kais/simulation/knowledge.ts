// Each site's knowledge about node load.
import { seeded, type Draw } from "@isochrone/primitives";
import { LoadTable, type DispatchRequest, type DispatchView, type SystemState } from "@isochrone/dispatch";

/**
 * `fresh`: current load of all nodes. `stale`: current load of own nodes, others from the last gossip. `own`:
 * own requests in flight. `answers`: load in answers. `probes`: also probes three random endpoints per
 * request.
 */
export type KnowledgeKind = "fresh" | "stale" | "own" | "answers" | "probes";

export interface Knowledge {
  view(request: DispatchRequest): DispatchView;
  sent(request: DispatchRequest, node: number): void;
  settled(site: number, node: number, service: number): void;
  /** Exchanges load between sites. */
  gossip(): void;
}

const PROBES = 3;

export function knowledgeOf(kind: KnowledgeKind, state: SystemState, seed: number): Knowledge {
  if (kind === "fresh") return new Fresh(state);
  if (kind === "stale") return new Stale(state);
  return new Learned(kind, state, seeded(seed));
}

class Fresh implements Knowledge {
  protected readonly state: SystemState;

  constructor(state: SystemState) {
    this.state = state;
  }

  view({ service }: DispatchRequest): DispatchView {
    return {
      state: this.state,
      load: ({ waiting, busy, inFlight, freeCores }) => ({
        ahead: waiting[service]! + busy[service]! + inFlight[service]!,
        freeCores,
      }),
    };
  }

  sent(): void {}
  settled(): void {}
  gossip(): void {}
}

class Stale extends Fresh {
  #told: readonly { readonly ahead: Int16Array; readonly freeCores: number }[] = [];

  constructor(state: SystemState) {
    super(state);
    this.gossip();
  }

  override view(request: DispatchRequest): DispatchView {
    const fresh = super.view(request);
    return {
      state: this.state,
      load: (node) => {
        if (node.site === request.site) return fresh.load(node);
        const { ahead, freeCores } = this.#told[node.index]!;
        return { ahead: ahead[request.service]!, freeCores };
      },
    };
  }

  override gossip(): void {
    this.#told = this.state.nodes.map(({ waiting, busy, freeCores }) => ({
      ahead: Int16Array.from(this.state.services, (_, service) => waiting[service]! + busy[service]!),
      freeCores,
    }));
  }
}

class Learned implements Knowledge {
  readonly #kind: KnowledgeKind;
  readonly #state: SystemState;
  readonly #draw: Draw;
  readonly #tables: readonly LoadTable[];

  constructor(kind: KnowledgeKind, state: SystemState, draw: Draw) {
    this.#kind = kind;
    this.#state = state;
    this.#draw = draw;
    this.#tables = state.sites.map(() => new LoadTable(state.nodes, state.services.length));
  }

  view({ site, service }: DispatchRequest): DispatchView {
    const table = this.#tables[site]!;
    if (this.#kind === "probes") this.#probe(table, service);
    return { state: this.#state, load: (node) => table.load(node, service) };
  }

  sent({ site, service }: DispatchRequest, node: number): void {
    this.#tables[site]!.sent(this.#state.nodes[node]!, service);
  }

  settled(site: number, index: number, service: number): void {
    const node = this.#state.nodes[index]!;
    if (this.#kind === "own") this.#tables[site]!.ended(node, service);
    else this.#tables[site]!.reported(node, service);
  }

  gossip(): void {}

  #probe(table: LoadTable, service: number): void {
    const nodes = this.#state.nodes.filter(({ ready }) => ready[service]! > 0);
    for (let k = 0; k < PROBES && nodes.length > 0; k++)
      table.reported(nodes[Math.floor(this.#draw() * nodes.length)]!, service);
  }
}
