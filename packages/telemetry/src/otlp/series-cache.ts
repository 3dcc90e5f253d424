import { OtlpError } from "../errors.ts";
import { checkAttributes, readAttributes } from "./attributes.ts";
import { ByteTable, KeyedEntry } from "./byte-table.ts";
import type { KeyPlace, KeyRange } from "./byte-table.ts";
import type { Attributes, MetricKind, Series, Temporality } from "./model.ts";

/** A name with its unit and shape; shared by the series of all resources. */
export interface MetricHead {
  readonly id: number;
  readonly name: string;
  readonly unit: string;
  readonly kind: MetricKind;
  readonly temporality: Temporality | null;
  readonly monotonic: boolean;
}

/**
 * Whose bytes are read. Series of different scopes are different ones, whatever they are called; what is new is counted down, so that nobody
 * can push out what others have here.
 */
export interface DecodeScope {
  /** 32 bits. */
  readonly id: number;
  seriesLeft: number;
  resourcesLeft: number;
  /** Names of metrics with their units and shapes; these alone are shared by all scopes. */
  namesLeft: number;
}

const RESOURCE_ATTRIBUTES_FIELD = 1;

class HeadEntry extends KeyedEntry {
  readonly head: MetricHead;

  constructor(head: MetricHead, place: KeyPlace) {
    super(place);
    this.head = head;
  }
}

export class ResourceEntry extends KeyedEntry {
  readonly id: number;
  #attributes: Attributes | null = null;

  constructor(id: number, place: KeyPlace) {
    super(place);
    this.id = id;
  }

  /** Read when they are first asked for, and kept: resources are few. */
  get attributes(): Attributes {
    return (this.#attributes ??= readAttributes(this.bytes, this.start, this.end, RESOURCE_ATTRIBUTES_FIELD));
  }
}

/** Of which series the attributes were read last, and what they are. */
const lastRead: { series: SeriesEntry | null; attributes: Attributes } = { series: null, attributes: {} };

class SeriesEntry extends KeyedEntry implements Series {
  readonly id: number;
  readonly #head: MetricHead;
  readonly #resource: ResourceEntry;
  readonly #field: number;
  state: unknown = undefined;

  constructor(id: number, head: MetricHead, resource: ResourceEntry, place: KeyPlace, field: number) {
    super(place);
    this.#field = field;
    this.id = id;
    this.#head = head;
    this.#resource = resource;
  }

  get name(): string {
    return this.#head.name;
  }
  get unit(): string {
    return this.#head.unit;
  }
  get kind(): MetricKind {
    return this.#head.kind;
  }
  get temporality(): Temporality | null {
    return this.#head.temporality;
  }
  get monotonic(): boolean {
    return this.#head.monotonic;
  }
  get resource(): Attributes {
    return this.#resource.attributes;
  }
  /**
   * Who binds a series asks for them several times in a row, and then never again: the bytes stay, and what they say is kept of the last one
   * only. Of all series it would be half a kilobyte each.
   */
  get attributes(): Attributes {
    if (lastRead.series !== this) {
      lastRead.attributes = readAttributes(this.bytes, this.start, this.end, this.#field);
      lastRead.series = this;
    }
    return lastRead.attributes;
  }
}

/** Bounds of the cache; resources and heads are far fewer than series. */
export interface SeriesCacheOptions {
  readonly maxSeries: number;
  readonly maxResources: number;
  readonly maxHeads: number;
  readonly seed: number;
  /** Told of each series that is evicted or forgotten. */
  readonly onGone?: (series: Series) => void;
}

/** Interns resources, metric heads and series by their bytes. Ids are given once, also to what comes back after eviction. */
export class SeriesCache {
  readonly #resources: ByteTable<ResourceEntry>;
  readonly #heads: ByteTable<HeadEntry>;
  readonly #series: ByteTable<SeriesEntry>;
  #resourceIds = 0;
  #headIds = 0;
  #seriesIds = 0;

  constructor(options: SeriesCacheOptions) {
    this.#resources = new ByteTable(options.maxResources, options.seed);
    this.#heads = new ByteTable(options.maxHeads, options.seed);
    this.#series = new ByteTable<SeriesEntry>(options.maxSeries, options.seed, "fields", options.onGone);
  }

  get size(): number {
    return this.#series.size;
  }
  get evictions(): number {
    return this.#series.evictions;
  }

  /** Ends a generation: what was not used in the newest `kept` ones, this one included, is forgotten. */
  endGeneration(kept: number): void {
    this.#series.endGeneration(kept);
    this.#resources.endGeneration(kept);
  }

  /** @throws OtlpError `malformed`: a resource is checked when it is first seen; `too_many_series`: its sender brought too many */
  resource(key: KeyRange, scope: DecodeScope): ResourceEntry {
    const known = this.#resources.find(scope.id, 0, key);
    if (known !== undefined) return known;
    if (scope.resourcesLeft <= 0) throw tooMany("resources");
    checkAttributes(key.bytes, key.start, key.end, RESOURCE_ATTRIBUTES_FIELD);
    scope.resourcesLeft--;
    return this.#resources.add(scope.id, 0, key, (place) => new ResourceEntry(this.#resourceIds++, place));
  }

  /**
   * @param shape distinguishes heads of equal bytes: kind, temporality and monotonicity in one number
   * @throws OtlpError `too_many_series`: its sender brought too many names
   */
  head(shape: number, key: KeyRange, scope: DecodeScope, create: (id: number) => MetricHead): MetricHead {
    const known = this.#heads.find(shape, 0, key);
    if (known !== undefined) return known.head;
    if (scope.namesLeft <= 0) throw tooMany("names of metrics");
    scope.namesLeft--;
    return this.#heads.add(shape, 0, key, (place) => new HeadEntry(create(this.#headIds++), place)).head;
  }

  /**
   * @param key the point's attribute fields, one after the other
   * @param field their field number, which depends on the kind of point
   * @returns null for a new one that the scope has no room for
   * @throws OtlpError `malformed`: attributes are checked when they are first seen
   */
  series(
    head: MetricHead,
    resource: ResourceEntry,
    key: KeyRange,
    field: number,
    scope: DecodeScope,
  ): Series | null {
    const known = this.#series.find(resource.id, head.id, key);
    if (known !== undefined) return known;
    if (scope.seriesLeft <= 0) return null;
    checkAttributes(key.bytes, key.start, key.end, field);
    // Attributes have no order: some senders write the same ones in another order each time.
    return this.#series.findInAnyOrderOrAdd(resource.id, head.id, key, (place) => {
      scope.seriesLeft--;
      return new SeriesEntry(this.#seriesIds++, head, resource, place, field);
    });
  }
}

function tooMany(what: string): OtlpError {
  return new OtlpError("too_many_series", `a sender must not bring more new ${what} than it may`);
}
