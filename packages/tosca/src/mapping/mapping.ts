// A mapping names the types of services and of channels.
import { localName } from "../definitions.ts";
import { ROUTE_TYPES } from "../route-types.ts";

export interface Mapping {
  readonly services: TypeNames;
  /** Node types that are not services although an ancestor is. */
  readonly others: TypeNames;
  readonly relationships: TypeNames;
  /** A requirement for such a capability type is a channel. */
  readonly capabilities: TypeNames;
  /** Requirement names, for types without relationship and capability. */
  readonly requirements: ReadonlySet<string>;
  readonly hosts: TypeNames;
  /** Isochrone route type by relationship or capability type, which determines the channel's priority. */
  readonly routes: ReadonlyMap<string, string>;
  /** Service types named by the user; if any, no other type is guessed to be a service. */
  readonly named: TypeNames;
}

type TypeChain = readonly (readonly string[])[];

/** A set of types. A name without dots and colons matches any namespace; a trailing `*` matches prefixes. */
export class TypeNames {
  readonly names: readonly string[];
  readonly #exact: ReadonlySet<string>;
  readonly #prefixes: readonly string[];

  constructor(names: Iterable<string>) {
    const all = [...names].map(canonical);
    this.names = all;
    this.#exact = new Set(all.filter((name) => !name.endsWith("*")));
    this.#prefixes = all.filter((name) => name.endsWith("*")).map((name) => name.slice(0, -1));
  }

  has(names: readonly string[]): boolean {
    return this.nameOf(names) !== null;
  }

  hasAny(chain: TypeChain): boolean {
    return chain.some((names) => this.has(names));
  }

  nameOf(names: readonly string[]): string | null {
    for (const name of names.map(canonical)) {
      const found = [name, localName(name)].find((each) => this.#exact.has(each));
      if (found !== undefined) return found;
      const prefix = this.#prefixes.find((each) => name.startsWith(each));
      if (prefix !== undefined) return `${prefix}*`;
    }
    return null;
  }
}

function canonical(name: string): string {
  return name.replaceAll("::", ":");
}

/** Whether the nearest statement on the type's chain declares a service. */
export function isServiceType(chain: TypeChain, { services, others }: Mapping): boolean {
  for (const names of chain) {
    if (others.has(names)) return false;
    if (services.has(names)) return true;
  }
  return false;
}

export function routeTypeOf(chain: TypeChain, { routes }: Mapping): string | null {
  const known = new TypeNames(routes.keys());
  for (const names of chain) {
    const name = known.nameOf(names);
    if (name !== null) return routes.get(name) ?? null;
  }
  return null;
}

/** Published profiles: TOSCA's own types, OASIS' abstract applications, microTOSCA, MiCADO, Puccini. */
export const BUILT_IN_MAPPING: Mapping = {
  services: new TypeNames([
    "Service",
    "MicroService",
    "Application",
    "SoftwareComponent",
    "WebServer",
    "WebApplication",
    "DBMS",
    "Database",
    "LoadBalancer",
    "tosca.nodes.Container.Application",
    ...["SoftwareComponent", "WebServer", "WebApplication", "DBMS", "Database"].map(
      (name) => `tosca.nodes.${name}.*`,
    ),
    "micro.nodes.CommunicationPattern",
    "micro.nodes.Datastore",
  ]),
  others: new TypeNames([
    "tosca.nodes.Container.Runtime",
    "tosca.nodes.Abstract.*",
    "tosca.nodes.Storage.*",
    "tosca.nodes.BlockStorage",
    "tosca.nodes.network.*",
    "micro.nodes.Compute",
  ]),
  relationships: new TypeNames([
    ...ROUTE_TYPES,
    "InteractsWith",
    "Connects",
    "RoutesTo",
    "cloud.puccini.telephony:Trunk",
  ]),
  capabilities: new TypeNames(["Endpoint", "Service"]),
  requirements: new Set(["route"]),
  hosts: new TypeNames(["HostedOn", "ContainedBy"]),
  routes: new Map(),
  named: new TypeNames([]),
};
