import { isDnsLabel, isDnsSubdomain, isLabelValue } from "@isochrone/kubernetes";
import { NO_NETWORK_LIMIT } from "@isochrone/topology";
import { isRecord, looseFields, parseBitsPerSecond, type BitsPerSecond } from "@isochrone/primitives";
import type { Cursor, Fields } from "./cursor.ts";
import { localName, SERVICE_TYPE_HINT } from "./definitions.ts";
import type { ToscaError } from "./errors.ts";
import { ConsequenceError, type Mistakes } from "./mistakes.ts";
import { inheritedPriority } from "./route-types.ts";
import { LIMITS } from "./source.ts";
import { bitsPerSecondOf } from "./values.ts";

/** A capability with its type chain as local names, most derived first. */
export interface Capability {
  readonly types: readonly string[];
  readonly properties: ReadonlyMap<string, Cursor>;
}

export const CHANNEL_PROPERTIES: readonly string[] = ["priority", "maxNetworkCost", "minBandwidth"];

const ROLES = ["Metadata", "Service", "Deployment"];

export function neededProperties(types: readonly string[], isGraphOnly: boolean): readonly string[] | null {
  if (!ROLES.some((role) => types.includes(role))) return [];
  if (!isGraphOnly) return null;
  return types.includes("Metadata") ? ["name", "namespace"] : [];
}

export interface ServiceDraft {
  readonly template: string;
  readonly at: Cursor;
  readonly capabilities: readonly Capability[];
  readonly container: ReadonlyMap<string, Cursor> | null;
  readonly hosts: readonly string[];
}

export interface RouteDraft {
  readonly source: string;
  readonly target: string;
  readonly at: Cursor;
  /** The relationship's type chain as written, most derived first. */
  readonly types: readonly string[];
  readonly properties: ReadonlyMap<string, Cursor>;
}

export interface ServiceNode {
  readonly template: string;
  readonly name: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Properties of the capability and its type (ClusterIP, …; Service: unspecified). Null: none. */
  readonly service: { readonly type: string; readonly properties: ReadonlyMap<string, Cursor> } | null;
  readonly deployment: ReadonlyMap<string, Cursor> | null;
  readonly container: ReadonlyMap<string, Cursor> | null;
  readonly hosts: readonly string[];
  readonly at: Cursor;
}

export interface RouteChannel {
  readonly source: ServiceNode;
  readonly target: ServiceNode;
  readonly relationshipType: string;
  readonly priority: number | null;
  readonly maxNetworkCost: number | null;
  readonly minBandwidthBitsPerSecond: BitsPerSecond | null;
}

export interface Application {
  readonly name: string;
  readonly namespace: string;
  readonly services: readonly ServiceNode[];
  readonly channels: readonly RouteChannel[];
  readonly notes: readonly string[];
  readonly root: Cursor;
}

export interface Draft {
  readonly root: Cursor;
  readonly name: string | null;
  readonly services: readonly ServiceDraft[];
  readonly routes: readonly RouteDraft[];
  readonly notes: readonly string[];
  readonly mistakes: Mistakes;
}

export interface Naming {
  /** @default the template's name, else the file's */
  readonly name?: string;
  /** Namespace of services without one. @default the common one of all services, else default */
  readonly namespace?: string;
}

/** Checks names and merges channels. Throws a ToscaError with all mistakes, including the reader's. */
export function applicationOf(draft: Draft, naming: Naming, fileName: string): Application {
  const { root, routes, mistakes } = draft;
  const renamed: string[] = [];
  const named = draft.services.flatMap(
    (service) => mistakes.attempt(() => metadataOf(service, renamed)) ?? [],
  );
  if (draft.services.length === 0 && mistakes.isEmpty) throw noServices(draft);
  if (naming.namespace !== undefined && !isDnsLabel(naming.namespace))
    mistakes.add(
      root.error(
        "invalid_option",
        `must be put into a namespace by its name, got ${JSON.stringify(naming.namespace)}`,
      ),
    );
  const namespace = naming.namespace ?? commonNamespace(named) ?? "default";
  const notes = [...draft.notes];
  if (renamed.length > 0) notes.push(`names that Kubernetes doesn't take: ${renamed.join(", ")}`);
  const services = named.map((each) => ({ ...each, namespace: each.namespace ?? namespace }));
  checkUnique(services, mistakes);
  if (services.some((service) => service.namespace !== namespace))
    notes.push(
      `services outside of ${namespace} are parts of workflows of their own namespaces, too; channels that they start count only where aggregator.declareFor allows objects in ${namespace} to declare them`,
    );
  const byTemplate = new Map(services.map((service) => [service.template, service]));
  const channels = routes.flatMap((route) => mistakes.attempt(() => channelOf(route, byTemplate)) ?? []);
  const name = mistakes.attempt(() => applicationName(naming, draft.name ?? fileName, root));
  mistakes.check();
  return { name: name!, namespace, services, channels: joined(channels, notes), notes, root };
}

const SHOWN_NOTES = 8;

function noServices({ root, notes }: Draft): ToscaError {
  const found = notes.length === 0 ? "" : ` (${notes.slice(-SHOWN_NOTES).join("; ")})`;
  return root.error(
    "invalid_value",
    `must have a node template whose type is a Service, got none${found}; ${SERVICE_TYPE_HINT}; or name your types in a file and give it by --mapping`,
  );
}

function metadataOf(
  { template, at, capabilities, container, hosts }: ServiceDraft,
  renamed: string[],
): Omit<ServiceNode, "namespace"> & {
  readonly namespace: string | null;
} {
  const byRole = (role: string): Capability | undefined => {
    const found = capabilities.filter(({ types }) => types.includes(role));
    return found.find(({ properties }) => properties.size > 0) ?? found[0];
  };
  const metadata = byRole("Metadata")?.properties ?? new Map<string, Cursor>();
  const service = byRole("Service");
  return {
    template,
    at,
    container,
    hosts,
    name: serviceName(metadata.get("name") ?? templateName(template, at, renamed)),
    namespace: namespaceName(metadata.get("namespace")),
    labels: textsOf(metadata.get("labels")),
    annotations: textsOf(metadata.get("annotations")),
    service: service === undefined ? null : { type: service.types[0]!, properties: service.properties },
    deployment: byRole("Deployment")?.properties ?? null,
  };
}

function templateName(template: string, at: Cursor, renamed: string[]): Cursor {
  if (isDnsSubdomain(template) && isLabelValue(template)) return at.with(template);
  const name = dashed(template);
  if (name !== "") renamed.push(`${template} is ${name}`);
  return at.with(name === "" ? template : name);
}

const MAX_NAME = 63;

function dashed(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .slice(0, MAX_NAME)
    .replaceAll(/^-+|-+$/g, "");
}

/** Must also be a label value, by which pods name their workload. */
function serviceName(at: Cursor): string {
  const name = at.text();
  if (!isDnsSubdomain(name) || !isLabelValue(name))
    throw at.fail(
      "must be called by a name that Kubernetes takes (a-z, 0-9, -, at most 63 characters)",
      "invalid_value",
    );
  return name;
}

function namespaceName(at: Cursor | undefined): string | null {
  if (at === undefined) return null;
  if (!isDnsLabel(at.text())) throw at.fail("must be a namespace's name", "invalid_value");
  return at.text();
}

function textsOf(at: Cursor | undefined): Record<string, string> {
  return Object.fromEntries((at?.entries() ?? []).map(([key, inner]) => [key, inner.text()]));
}

function commonNamespace(services: readonly { readonly namespace: string | null }[]): string | null {
  const [first] = services;
  return services.every(({ namespace }) => namespace === first?.namespace)
    ? (first?.namespace ?? null)
    : null;
}

function checkUnique(services: readonly ServiceNode[], mistakes: Mistakes): void {
  const known = new Map<string, ServiceNode>();
  for (const service of services) {
    const key = `${service.namespace}/${service.name}`;
    const before = known.get(key);
    if (before !== undefined)
      mistakes.add(
        service.at.error(
          "invalid_value",
          `must not be called as ${before.template} is, got ${JSON.stringify(service.name)}`,
        ),
      );
    else known.set(key, service);
  }
}

function applicationName(naming: Naming, otherwise: string, root: Cursor): string {
  const wanted = naming.name ?? otherwise;
  const name = naming.name !== undefined && wanted.length > MAX_NAME ? wanted : dashed(wanted);
  if (!isDnsLabel(name))
    throw root.error(
      naming.name === undefined ? "invalid_value" : "invalid_option",
      `must be called by a name of at most 63 letters and digits (--name gives another one), got ${JSON.stringify(wanted)}`,
    );
  return name;
}

function channelOf(route: RouteDraft, services: ReadonlyMap<string, ServiceNode>): RouteChannel {
  const { types, properties } = route;
  const cost = properties.get("maxNetworkCost");
  if (cost !== undefined && !(Number.isInteger(cost.value) && cost.amount() <= NO_NETWORK_LIMIT))
    throw cost.fail(`must be a whole number from 0 to ${NO_NETWORK_LIMIT}`, "invalid_value");
  const priority = properties.get("priority")?.amount() ?? inheritedPriority(types);
  const minBandwidthBitsPerSecond = bandwidthOf(properties.get("minBandwidth"));
  const [source, target] = [services.get(route.source), services.get(route.target)];
  if (source === undefined || target === undefined)
    throw new ConsequenceError(`${route.source} -> ${route.target}`);
  return {
    source,
    target,
    relationshipType: localName(types[0]!),
    priority,
    maxNetworkCost: cost?.amount() ?? null,
    minBandwidthBitsPerSecond,
  };
}

function bandwidthOf(at: Cursor | undefined): number | null {
  if (at === undefined) return null;
  const value = isRecord(at.value)
    ? looseFields<Record<"$originalString", unknown>>(at.value).$originalString
    : at.value;
  const bits = (typeof value === "string" ? bitsPerSecondOf(value) : null) ?? parseBitsPerSecond(value);
  if (bits === null || !(bits >= 0)) throw at.fail("must be a bit rate, as 10 Mbps or 10M", "invalid_value");
  return bits;
}

/**
 * Merges channels of each ordered pair: highest priority with its type, tightest limit, sum of bandwidths.
 */
function joined(channels: readonly RouteChannel[], notes: string[]): RouteChannel[] {
  const pairs = Map.groupBy(channels, ({ source, target }) => `${source.template}\n${target.template}`);
  return [...pairs.values()].map((several) => {
    const [first, ...others] = several.toSorted((a, b) => (b.priority ?? 0) - (a.priority ?? 0));
    if (others.length === 0) return first!;
    const { source, target, relationshipType } = first!;
    notes.push(
      `${source.name} -> ${target.name}: ${several.length} routes are one channel, by the ${relationshipType} of the highest priority`,
    );
    const costs = several.flatMap(({ maxNetworkCost }) => (maxNetworkCost === null ? [] : [maxNetworkCost]));
    const needs = several.flatMap(({ minBandwidthBitsPerSecond: bits }) => (bits === null ? [] : [bits]));
    return {
      ...first!,
      maxNetworkCost: costs.length === 0 ? null : Math.min(...costs),
      minBandwidthBitsPerSecond: needs.length === 0 ? null : needs.reduce((sum, bits) => sum + bits, 0),
    };
  });
}

/** A value as fields, bounded in size: functions may repeat values. Throws ToscaError. */
export function fieldsOf(at: Cursor): Fields {
  checkValues(at);
  return at.map().value as Fields;
}

export function checkValues(at: Cursor): void {
  let left: number = LIMITS.values;
  const visit = (value: unknown): void => {
    if (--left < 0) throw at.error("too_large", `must have at most ${LIMITS.values} values, got more`);
    if (typeof value === "object" && value !== null) for (const inner of Object.values(value)) visit(inner);
  };
  visit(at.value);
}
