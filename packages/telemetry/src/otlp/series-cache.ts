import { checkAttributes, readAttributes } from "./attributes.ts";
import { ByteTable } from "./byte-table.ts";
import type { KeyCopy, KeyRange } from "./byte-table.ts";
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

const RESOURCE_ATTRIBUTES_FIELD = 1;

export class ResourceEntry {
  readonly id: number;
  readonly #copy: KeyCopy;
  #attributes: Attributes | null = null;

  constructor(id: number, copy: KeyCopy) {
    this.id = id;
    this.#copy = copy;
  }

  /** Read when they are first asked for, and kept: resources are few. */
  get attributes(): Attributes {
    const { bytes, start, end } = this.#copy;
    return (this.#attributes ??= readAttributes(bytes, start, end, RESOURCE_ATTRIBUTES_FIELD));
  }
}

/** Of which series the attributes were read last, and what they are. */
let lastRead: KeyCopy | null = null;
let lastAttributes: Attributes = {};

class SeriesEntry implements Series {
  readonly id: number;
  readonly #head: MetricHead;
  readonly #resource: ResourceEntry;
  readonly #copy: KeyCopy;
  readonly #field: number;
  state: unknown = undefined;

  constructor(id: number, head: MetricHead, resource: ResourceEntry, copy: KeyCopy, field: number) {
    this.#copy = copy;
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
    if (lastRead !== this.#copy) {
      const { bytes, start, end } = this.#copy;
      lastAttributes = readAttributes(bytes, start, end, this.#field);
      lastRead = this.#copy;
    }
    return lastAttributes;
  }
}

/** Bounds of the cache; resources and heads are far fewer than series. */
export interface SeriesCacheOptions {
  readonly maxSeries: number;
  readonly maxResources: number;
  readonly maxHeads: number;
  readonly seed: number;
}

/** Interns resources, metric heads and series by their bytes. Ids are given once, also to what comes back after eviction. */
export class SeriesCache {
  readonly #resources: ByteTable<ResourceEntry>;
  readonly #heads: ByteTable<MetricHead>;
  readonly #series: ByteTable<SeriesEntry>;
  #resourceIds = 0;
  #headIds = 0;
  #seriesIds = 0;

  constructor(options: SeriesCacheOptions) {
    this.#resources = new ByteTable(options.maxResources, options.seed);
    this.#heads = new ByteTable(options.maxHeads, options.seed);
    this.#series = new ByteTable(options.maxSeries, options.seed, "fields");
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

  /** @throws OtlpError `malformed`: a resource is checked when it is first seen */
  resource(key: KeyRange): ResourceEntry {
    const known = this.#resources.find(0, 0, key);
    if (known !== undefined) return known;
    checkAttributes(key.bytes, key.start, key.end, RESOURCE_ATTRIBUTES_FIELD);
    return this.#resources.add(0, 0, key, (copy) => new ResourceEntry(this.#resourceIds++, copy));
  }

  /** @param shape distinguishes heads of equal bytes: kind, temporality and monotonicity in one number */
  head(shape: number, key: KeyRange, create: (id: number) => MetricHead): MetricHead {
    return this.#heads.find(shape, 0, key) ?? this.#heads.add(shape, 0, key, () => create(this.#headIds++));
  }

  /**
   * @param key the point's attribute fields, one after the other
   * @param field their field number, which depends on the kind of point
   * @throws OtlpError `malformed`: attributes are checked when they are first seen
   */
  series(head: MetricHead, resource: ResourceEntry, key: KeyRange, field: number): Series {
    const known = this.#series.find(resource.id, head.id, key);
    if (known !== undefined) return known;
    checkAttributes(key.bytes, key.start, key.end, field);
    // Attributes have no order: some senders write the same ones in another order each time.
    return this.#series.findInAnyOrderOrAdd(resource.id, head.id, key, (copy) => {
      return new SeriesEntry(this.#seriesIds++, head, resource, copy, field);
    });
  }
}
