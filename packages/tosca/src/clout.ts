// Reads Clout of the Puccini compiler: v0.17 ({"$value": …}, capitalized JSON), newer ({"$primitive": …}),
// and both after --coerce (plain values). Samples: test/data/tosca.
import { isRecord } from "@isochrone/primitives";
import { CHANNEL_PROPERTIES, neededProperties } from "./application.ts";
import type { Capability, Draft, RouteDraft, ServiceDraft } from "./application.ts";
import { Cursor, type Fields } from "./cursor.ts";
import { localName } from "./definitions.ts";
import { Mistakes } from "./mistakes.ts";
import { isServiceType, routeTypeOf, type Mapping } from "./mapping/mapping.ts";
import type { Source } from "./source.ts";

export function isClout({ root }: Source): boolean {
  return isRecord(root) && ("vertexes" in root || "Vertexes" in root);
}

export function readClout(source: Source, mapping: Mapping, isGraphOnly: boolean): Draft {
  const root = new Cursor(source);
  const notes: string[] = [];
  const mistakes = new Mistakes();
  const vertexes = new Map(
    (root.either("vertexes", "Vertexes")?.entries() ?? []).filter(
      ([, vertex]) => kindOf(vertex) === "NodeTemplate",
    ),
  );
  const services = new Map<string, ServiceDraft>();
  const others: string[] = [];
  for (const [id, vertex] of vertexes) {
    const service = mistakes.attempt(() => serviceOf(vertex, mapping, isGraphOnly));
    if (service) services.set(id, service);
    else if (service === null) others.push(nameOf(vertex));
  }
  if (others.length > 0) notes.push(`no Services, left out: ${others.join(", ")}`);
  if (services.size > 2 && [...services.values()].some(({ at }) => hasNamelessTarget(at)))
    notes.push(
      "the Clout doesn't keep which node templates the requirements name, and newer compilers take others at times: check the channels, or give the template",
    );
  return {
    root,
    name: templateName(root),
    // Sorted by name: the compiler's vertex ids, and so their order, change with each run.
    services: [...services.values()].sort((a, b) => compareText(a.template, b.template)),
    routes: [...services]
      .flatMap(
        ([id, service]) =>
          mistakes.attempt(() =>
            routesOf(vertexes.get(id)!, service, { services, vertexes, notes, mapping }),
          ) ?? [],
      )
      .sort((a, b) => compareText(a.source, b.source) || compareText(a.target, b.target)),
    notes,
    mistakes,
  };
}

function kindOf(vertex: Cursor): unknown {
  return vertex.get("metadata")?.get("puccini")?.get("kind")?.value;
}

/** Vertex ids are random: the node template's name is a property. */
function nameOf(vertex: Cursor): string {
  const name = vertex.get("properties")?.get("name");
  if (!name) throw vertex.error("malformed", "must have properties.name, as a node template of Puccini has");
  return name.text();
}

function templateName(root: Cursor): string | null {
  const tosca = root.either("properties", "Properties")?.get("tosca");
  const name = tosca?.get("metadata")?.get("template_name");
  return name?.text() ?? null;
}

function serviceOf(vertex: Cursor, mapping: Mapping, isGraphOnly: boolean): ServiceDraft | null {
  const template = nameOf(vertex);
  const properties = vertex.get("properties")!;
  const capabilities = (properties.get("capabilities")?.entries() ?? []).map(([, at]) =>
    capabilityOf(at, isGraphOnly),
  );
  const isService =
    isServiceType(chainOf(properties), mapping) ||
    capabilities.some(({ types }) => types.includes("Deployment"));
  return isService ? { template, at: vertex, capabilities, container: null, hosts: [] } : null;
}

function capabilityOf(at: Cursor, isGraphOnly: boolean): Capability {
  const types = typeNames(at).map(localName);
  return { types, properties: propertiesOf(at, neededProperties(types, isGraphOnly)) };
}

function typeNames(entity: Cursor): string[] {
  const types = new Map(
    (entity.get("types")?.entries() ?? []).map(([name, type]) => [name, type.get("parent")?.text() ?? null]),
  );
  const parents = new Set(types.values());
  const names: string[] = [];
  let name = [...types.keys()].find((each) => !parents.has(each)) ?? null;
  while (name !== null && !names.includes(name)) {
    names.push(name);
    name = types.get(name) ?? null;
  }
  return names;
}

function propertiesOf(entity: Cursor, needed: readonly string[] | null): Map<string, Cursor> {
  return new Map(
    (entity.get("properties")?.entries() ?? [])
      .filter(([name]) => needed === null || needed.includes(name))
      .map(([name, at]) => [name, at.with(plain(at))] as const)
      .filter(([, { value }]) => value !== null && value !== undefined),
  );
}

/** Strips the compiler's annotations. Throws ToscaError for an unevaluated function. */
function plain(at: Cursor): unknown {
  if (Array.isArray(at.value)) return at.items().map(plain);
  if (!isRecord(at.value)) return at.value;
  const { value } = at;
  const inner = at.either("$primitive", "$value");
  if (inner !== null) return plain(inner);
  if ("$functionCall" in value)
    throw at.error(
      "unsupported",
      "must be a value: compile the template with --coerce, got a function's call",
    );
  if ("$list" in value) return at.get("$list")?.items().map(plain) ?? [];
  if ("$map" in value) return mapOf(at);
  if ("$primitive" in value || "$value" in value) return null;
  if ("$number" in value) return value;
  return Object.fromEntries(at.entries().map(([key, each]) => [key, plain(each)]));
}

function mapOf(at: Cursor): Fields {
  return Object.fromEntries(
    (at.get("$map")?.items() ?? []).map((entry) => {
      const key = entry.get("$key");
      const name = key === null ? null : plain(key);
      if (typeof name !== "string") throw entry.error("malformed", "must have a text as its $key");
      const { $key: _, ...value } = entry.map().value as Fields;
      return [name, plain(entry.with(value))];
    }),
  );
}

function chainOf(entity: Cursor): string[][] {
  return typeNames(entity).map((name) => [name]);
}

interface Surrounding {
  readonly services: ReadonlyMap<string, ServiceDraft>;
  readonly vertexes: ReadonlyMap<string, Cursor>;
  readonly notes: string[];
  readonly mapping: Mapping;
}

function routesOf(
  vertex: Cursor,
  source: ServiceDraft,
  { services, vertexes, notes, mapping }: Surrounding,
): RouteDraft[] {
  const edges = vertex.get("edgesOut")?.items() ?? [];
  checkResolved(vertex, edges, vertexes);
  return edges.flatMap((edge) => {
    const properties = edge.get("properties") ?? edge;
    const types = typeNames(properties);
    const chain = chainOf(properties);
    if (kindOf(edge) !== "Relationship" || !mapping.relationships.hasAny(chain)) return [];
    const routed = routeTypeOf(chain, mapping);
    const target = targetOf(edge, vertexes);
    const service = services.get(target.id);
    if (service === undefined) {
      const name = nameOf(target.vertex);
      notes.push(`${source.template} -> ${name}: no channel, ${name} is no Service`);
      return [];
    }
    return [
      {
        source: source.template,
        target: service.template,
        at: edge,
        types: [...types, ...(routed === null ? [] : [routed])],
        properties: propertiesOf(properties, CHANNEL_PROPERTIES),
      },
    ];
  });
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function targetOf(edge: Cursor, vertexes: ReadonlyMap<string, Cursor>): { id: string; vertex: Cursor } {
  const at = edge.get("targetID");
  if (at === null) throw edge.error("malformed", "must have a targetID");
  const vertex = vertexes.get(at.text());
  if (vertex === undefined) throw at.fail("must be the id of a node template's vertex", "unresolved");
  return { id: at.text(), vertex };
}

function hasNamelessTarget(vertex: Cursor): boolean {
  const requirements = vertex.get("properties")!.get("requirements")?.items() ?? [];
  return requirements.some(
    (requirement) =>
      requirement.get("nodeTemplateName")?.value === "" && requirement.get("nodeTypeName")?.value === "",
  );
}

/**
 * Requirements must be resolved as written: newer compilers sometimes pick another node template, detectable
 * only where the written name is kept.
 */
function checkResolved(
  vertex: Cursor,
  edges: readonly Cursor[],
  vertexes: ReadonlyMap<string, Cursor>,
): void {
  const requirements = vertex.get("properties")!.get("requirements")?.items() ?? [];
  const left = edges.map((edge) => ({
    name: edge.get("properties")?.get("name")?.value,
    target: edge.get("targetID") === null ? null : nameOf(targetOf(edge, vertexes).vertex),
  }));
  for (const requirement of requirements) {
    const name = requirement.get("name")?.value;
    const wanted = requirement.get("nodeTemplateName")?.value;
    const isNamed = typeof wanted === "string" && wanted !== "";
    const index = left.findIndex((edge) => edge.name === name && (!isNamed || edge.target === wanted));
    if (index !== -1) {
      left.splice(index, 1);
      continue;
    }
    const to = isNamed ? ` to ${wanted}` : "";
    throw requirement.error(
      "unresolved",
      `must be among edgesOut (the requirement ${String(name)}${to}): compile the template with --resolve, or give the template itself`,
    );
  }
}
