// The page's state as the URL fragment: shareable, and tolerant of invalid input.

export const QUANTITIES = ["p50", "p90", "p99", "loss", "age"] as const;
export type Quantity = (typeof QUANTITIES)[number];

export const LEVELS = ["nodes", "zones", "regions"] as const;
export type Level = (typeof LEVELS)[number];

export type Place =
  | { readonly page: "overview" }
  | {
      readonly page: "network";
      readonly view: "matrix" | "map";
      readonly from?: string;
    }
  | { readonly page: "pair"; readonly source: string; readonly target: string }
  | {
      readonly page: "workflows";
      readonly workflow: { readonly namespace: string; readonly name: string } | null;
    }
  | {
      readonly page: "streams";
      readonly job: { readonly namespace: string; readonly name: string } | null;
    }
  | {
      readonly page: "traffic";
      readonly service: { readonly namespace: string; readonly name: string } | null;
    }
  | {
      readonly page: "decisions";
      readonly kind: "decision" | "plan";
      readonly id: string | null;
      readonly filter?: ActFilter;
    }
  | { readonly page: "bill" }
  | { readonly page: "health" };

export const ACT_KINDS = ["move", "plan", "placement", "proposal"] as const;

export interface ActFilter {
  readonly namespace?: string;
  readonly workload?: string;
  readonly kind?: string;
  readonly within?: string;
}

const FILTERS = ["namespace", "workload", "kind", "within"] as const;

export interface View {
  readonly quantity: Quantity;
  readonly level: Level | null;
  /** A past moment, RFC 3339; null: now. */
  readonly at: string | null;
}

export interface Route {
  readonly place: Place;
  readonly view: View;
}

const PLAIN: View = { quantity: "p50", level: null, at: null };

export function isAlwaysNow({ page }: Place): boolean {
  return page === "decisions" || page === "health";
}

export function parseRoute(fragment: string): Route {
  const [path = "", query = ""] = fragment.replace(/^#/, "").split("?", 2);
  const parts = path
    .split("/")
    .filter((part) => part !== "")
    .map(decoded);
  const asked = new URLSearchParams(query);
  return { place: withFilter(placeOf(parts), asked), view: viewOf(asked) };
}

export function formatRoute({ place, view }: Route): string {
  const query = new URLSearchParams();
  if (view.quantity !== PLAIN.quantity) query.set("show", view.quantity);
  if (view.level !== null) query.set("level", view.level);
  if (view.at !== null) query.set("at", view.at);
  const filter = place.page === "decisions" && place.id === null ? place.filter : undefined;
  for (const name of FILTERS) {
    const value = filter?.[name];
    if (value !== undefined) query.set(name, value);
  }
  const text = query.toString();
  const path = segmentsOf(place).map(encodeURIComponent).join("/");
  return `#/${path}${text === "" ? "" : `?${text}`}`;
}

function placeOf([page, ...rest]: readonly string[]): Place {
  switch (page) {
    case "pair":
      return rest.length >= 2
        ? { page, source: rest[0]!, target: rest[1]! }
        : { page: "network", view: "matrix" };
    case "workflows":
      return { page, workflow: objectOf(rest) };
    case "streams":
      return { page, job: objectOf(rest) };
    case "traffic":
      return { page, service: objectOf(rest) };
    case "decisions":
      return { page, kind: "decision", id: rest[0] ?? null };
    case "plans":
      return { page: "decisions", kind: "plan", id: rest[0] ?? null };
    case "bill":
    case "health":
      return { page };
    case "network":
      return networkOf(rest);
    default:
      return { page: "overview" };
  }
}

function withFilter(place: Place, query: URLSearchParams): Place {
  if (place.page !== "decisions" || place.id !== null) return place;
  const isKnown = (name: string, value: string): boolean =>
    value !== "" && (name !== "kind" || ACT_KINDS.some((kind) => kind === value));
  const parts = FILTERS.flatMap((name) => {
    const value = query.get(name) ?? "";
    return isKnown(name, value) ? [[name, value] as const] : [];
  });
  return parts.length === 0 ? place : { ...place, filter: Object.fromEntries(parts) };
}

function networkOf([view, from]: readonly string[]): Place {
  if (view !== "map") return { page: "network", view: "matrix" };
  return from === undefined ? { page: "network", view } : { page: "network", view, from };
}

function objectOf([namespace, name]: readonly string[]): { namespace: string; name: string } | null {
  return namespace === undefined || name === undefined ? null : { namespace, name };
}

function segmentsOf(place: Place): readonly string[] {
  switch (place.page) {
    case "network":
      if (place.view !== "map") return ["network"];
      return place.from === undefined ? ["network", "map"] : ["network", "map", place.from];
    case "pair":
      return ["pair", place.source, place.target];
    case "workflows":
      return place.workflow === null
        ? ["workflows"]
        : ["workflows", place.workflow.namespace, place.workflow.name];
    case "streams":
      return place.job === null ? ["streams"] : ["streams", place.job.namespace, place.job.name];
    case "traffic":
      return place.service === null ? ["traffic"] : ["traffic", place.service.namespace, place.service.name];
    case "decisions":
      return place.id === null ? ["decisions"] : [place.kind === "plan" ? "plans" : "decisions", place.id];
    default:
      return [place.page];
  }
}

function viewOf(query: URLSearchParams): View {
  const show = query.get("show");
  const level = query.get("level");
  const at = query.get("at");
  return {
    quantity: QUANTITIES.find((known) => known === show) ?? PLAIN.quantity,
    level: LEVELS.find((known) => known === level) ?? null,
    at: at !== null && /^\d{4}-\d\d-\d\dT/.test(at) && !Number.isNaN(Date.parse(at)) ? at : null,
  };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
