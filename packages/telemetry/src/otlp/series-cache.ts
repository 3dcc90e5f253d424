import { checkAttributes, readAttributes } from "./attributes.ts";
import { ByteTable, KeyedEntry } from "./byte-table.ts";
import type { KeyPlace } from "./byte-table.ts";
import type { KeyRange } from "./byte-hash.ts";
import type { Attributes, MetricKind, Series, Temporality } from "./model.ts";
import type { ValueRange } from "../value-ranges.ts";

/** A metric's name, unit and shape, shared by series of all resources. */
export interface MetricHead {
  readonly name: string;
  readonly unit: string;
  readonly kind: MetricKind;
  readonly temporality: Temporality | null;
  readonly monotonic: boolean;
  readonly range: ValueRange;
}

/**
 * Owner of the bytes. Scopes have separate series, and admit new ones, so that no sender can evict another's.
 */
export interface DecodeScope {
  readonly id: number;
  /**
   * Whether to keep a new series with this size, including a new resource and name. Called first; false
   * refuses the point as `too_many_series`.
   */
  admits(bytes: number): boolean;
}

const RESOURCE_ATTRIBUTES_FIELD = 1;

class HeadEntry extends KeyedEntry {
  readonly id: number;
  readonly head: MetricHead;
  series = 0;

  constructor(id: number, head: MetricHead, place: KeyPlace) {
    super(place);
    this.id = id;
    this.head = head;
  }
}

class ResourceEntry extends KeyedEntry {
  readonly id: number;
  series = 0;
  #attributes: Attributes | null = null;

  constructor(id: number, place: KeyPlace) {
    super(place);
    this.id = id;
  }

  /** Parsed lazily and kept, because resources are few. */
  get attributes(): Attributes {
    return (this.#attributes ??= readAttributes(this.bytes, this.start, this.end, RESOURCE_ATTRIBUTES_FIELD));
  }
}

const lastRead: { series: SeriesEntry | null; attributes: Attributes } = { series: null, attributes: {} };

class SeriesEntry extends KeyedEntry implements Series {
  readonly id: number;
  readonly ofHead: HeadEntry;
  readonly ofResource: ResourceEntry;
  readonly #field: number;
  state: unknown = undefined;

  constructor(id: number, head: HeadEntry, resource: ResourceEntry, place: KeyPlace, field: number) {
    super(place);
    this.#field = field;
    this.id = id;
    this.ofHead = head;
    this.ofResource = resource;
  }

  get name(): string {
    return this.ofHead.head.name;
  }
  get unit(): string {
    return this.ofHead.head.unit;
  }
  get kind(): MetricKind {
    return this.ofHead.head.kind;
  }
  get temporality(): Temporality | null {
    return this.ofHead.head.temporality;
  }
  get monotonic(): boolean {
    return this.ofHead.head.monotonic;
  }
  get resource(): Attributes {
    return this.ofResource.attributes;
  }
  /**
   * Consumers read them several times in a row, then never again. Keeping all would take half a kilobyte per
   * series.
   */
  get attributes(): Attributes {
    if (lastRead.series !== this) {
      lastRead.attributes = readAttributes(this.bytes, this.start, this.end, this.#field);
      lastRead.series = this;
    }
    return lastRead.attributes;
  }
}

interface SeriesCacheOptions {
  readonly maxSeries: number;
  readonly maxSeriesBytes: number;
  readonly maxResources: number;
  readonly maxHeads: number;
  readonly seed: number;
  readonly onGone?: (series: Series) => void;
}

export interface SoughtResource {
  readonly key: KeyRange;
  entry: ResourceEntry | null;
}

export interface SoughtHead {
  readonly key: KeyRange;
  readonly shape: number;
  readonly head: MetricHead;
  entry: HeadEntry | null;
}

/** Pins resources and heads that have series, which evicting would split. */
const HAS_SERIES = {
  isPinned: ({ series }: { readonly series: number }): boolean => series > 0,
};

/** Memory of a parsed resource per encoded byte. */
const BYTES_PER_RESOURCE_BYTE = 4;

/**
 * Interns resources, metric heads and series by bytes. Ids are never reused. Resources and heads are evicted
 * only without series.
 */
export class SeriesCache {
  readonly #resources: ByteTable<ResourceEntry>;
  readonly #heads: ByteTable<HeadEntry>;
  readonly #series: ByteTable<SeriesEntry>;
  #resourceIds = 0;
  #headIds = 0;
  #seriesIds = 0;

  constructor({ onGone = () => undefined, ...options }: SeriesCacheOptions) {
    const { maxSeries, maxSeriesBytes, maxResources, maxHeads, seed } = options;
    const bounds = { ...HAS_SERIES, maxBytes: maxSeriesBytes / BYTES_PER_RESOURCE_BYTE };
    this.#resources = new ByteTable<ResourceEntry>(maxResources, seed, "bytes", undefined, bounds);
    this.#heads = new ByteTable<HeadEntry>(maxHeads, seed, "bytes", undefined, bounds);
    const letGo = (entry: SeriesEntry): void => {
      this.#count(entry, -1);
      onGone(entry);
    };
    this.#series = new ByteTable<SeriesEntry>(maxSeries, seed, "fields", letGo, { maxBytes: maxSeriesBytes });
  }

  get size(): number {
    return this.#series.size;
  }
  get evictions(): number {
    return this.#series.evictions;
  }

  get bytes(): number {
    return this.#series.bytes;
  }

  /** Forgets entries unused in the newest `kept` generations, including this one. */
  endGeneration(kept: number): void {
    this.#series.endGeneration(kept);
    this.#resources.endGeneration(kept);
    this.#heads.endGeneration(kept);
  }

  /** @returns null for an unknown resource @throws OtlpError `malformed`: unknown resources are validated */
  findResource(
    key: KeyRange,
    maxAttributes: number,
    { id }: DecodeScope,
  ): ResourceEntry | null | "too_many_attributes" {
    const known = this.#resources.find(id, 0, key);
    if (known !== undefined) return known;
    const count = checkAttributes(key.bytes, key.start, key.end, RESOURCE_ATTRIBUTES_FIELD);
    return count > maxAttributes ? "too_many_attributes" : null;
  }

  /** @returns null for an unknown head */
  findHead(shape: number, key: KeyRange): HeadEntry | null {
    return this.#heads.find(shape, 0, key) ?? null;
  }

  /** Separate from `add`, whose closures would be allocated per point. */
  find({ entry: head }: SoughtHead, { entry: resource }: SoughtResource, key: KeyRange): Series | undefined {
    return head === null || resource === null ? undefined : this.#series.find(resource.id, head.id, key);
  }

  /**
   * @param key the point's attribute fields in sequence
   * @param scope asked before a new series is kept
   * @returns null if not admitted, or without space
   * @throws OtlpError `malformed`: new attributes are validated
   */
  add(
    head: SoughtHead,
    resource: SoughtResource,
    key: KeyRange,
    field: number,
    scope: DecodeScope,
  ): Series | null {
    checkAttributes(key.bytes, key.start, key.end, field);
    const isNew = head.entry === null || resource.entry === null;
    const admitted = (): boolean =>
      this.#hasRoom(head, resource) && scope.admits(bytesOf(head, resource, key));
    if (isNew && !admitted()) return null;
    const headEntry = (head.entry ??= this.#addHead(head));
    const resourceEntry = (resource.entry ??= this.#addResource(resource, scope));
    // Some senders change the order of attributes with each export.
    const series = this.#series.findInAnyOrderOrAdd(
      resourceEntry.id,
      headEntry.id,
      key,
      () => isNew || admitted(),
      (place) => {
        const entry = new SeriesEntry(this.#seriesIds++, headEntry, resourceEntry, place, field);
        this.#count(entry, 1);
        return entry;
      },
    );
    return series ?? null;
  }

  #hasRoom({ entry: head, key: headKey }: SoughtHead, { entry: resource, key }: SoughtResource): boolean {
    return (
      (head !== null || this.#heads.hasRoomFor(headKey.end - headKey.start)) &&
      (resource !== null || this.#resources.hasRoomFor(key.end - key.start))
    );
  }

  #addHead({ shape, key, head }: SoughtHead): HeadEntry {
    return this.#heads.add(shape, 0, key, (place) => new HeadEntry(this.#headIds++, head, place));
  }

  #addResource({ key }: SoughtResource, { id }: DecodeScope): ResourceEntry {
    return this.#resources.add(id, 0, key, (place) => new ResourceEntry(this.#resourceIds++, place));
  }

  /** Counts memory that series share once. */
  #count({ ofHead, ofResource }: SeriesEntry, difference: 1 | -1): void {
    ofHead.series += difference;
    ofResource.series += difference;
    if (ofResource.series === (difference === 1 ? 1 : 0))
      this.#series.charge(difference * (ofResource.end - ofResource.start) * BYTES_PER_RESOURCE_BYTE);
  }
}

function bytesOf(head: SoughtHead, resource: SoughtResource, key: KeyRange): number {
  const headBytes = head.entry === null ? head.key.end - head.key.start : 0;
  const resourceBytes = resource.entry === null ? resource.key.end - resource.key.start : 0;
  return key.end - key.start + headBytes + resourceBytes * BYTES_PER_RESOURCE_BYTE;
}
