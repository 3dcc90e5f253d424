import { checkAttributes, readAttributes } from "./attributes.ts";
import { ByteTable, KeyedEntry } from "./byte-table.ts";
import type { KeyPlace } from "./byte-table.ts";
import type { KeyRange } from "./byte-hash.ts";
import type { Attributes, MetricKind, Series, Temporality } from "./model.ts";
import type { ValueRange } from "../value-ranges.ts";

/** A name with its unit and shape; shared by the series of all resources. */
export interface MetricHead {
  readonly name: string;
  readonly unit: string;
  readonly kind: MetricKind;
  readonly temporality: Temporality | null;
  readonly monotonic: boolean;
  readonly range: ValueRange;
}

/**
 * Whose bytes are read. Series of different scopes are different series, whatever they are called. A scope
 * admits what is new, so that no sender can push out what others have here.
 */
export interface DecodeScope {
  /** 32 bits. */
  readonly id: number;
  /**
   * Whether a new series is to be kept, which takes so many bytes together with a resource and a name that
   * are new too. Called before anything is kept; without it, points are refused as `too_many_series`.
   */
  admits(bytes: number): boolean;
}

const RESOURCE_ATTRIBUTES_FIELD = 1;

class HeadEntry extends KeyedEntry {
  readonly id: number;
  readonly head: MetricHead;
  /** Series that have it. */
  series = 0;

  constructor(id: number, head: MetricHead, place: KeyPlace) {
    super(place);
    this.id = id;
    this.head = head;
  }
}

class ResourceEntry extends KeyedEntry {
  readonly id: number;
  /** Series that have it. */
  series = 0;
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
   * Who binds a series asks for them several times in a row, and then never again: the bytes stay, and what
   * they say is kept of the last one only. Of all series it would be half a kilobyte each.
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
interface SeriesCacheOptions {
  readonly maxSeries: number;
  /** Bytes of the series' attributes, and of the resources and names that they have. */
  readonly maxSeriesBytes: number;
  readonly maxResources: number;
  readonly maxHeads: number;
  readonly seed: number;
  /** Told of each series that is evicted or forgotten. */
  readonly onGone?: (series: Series) => void;
}

/** A resource as a record names it. It is kept once a series of it is. */
export interface SoughtResource {
  readonly key: KeyRange;
  entry: ResourceEntry | null;
}

/** A head as a record names it, likewise. */
export interface SoughtHead {
  readonly key: KeyRange;
  /** Distinguishes heads of equal bytes: kind, temporality and monotonicity in one number. */
  readonly shape: number;
  readonly head: MetricHead;
  entry: HeadEntry | null;
}

/** Without its resource or head a series would go on as a new one. */
const HAS_SERIES = {
  isPinned: ({ series }: { readonly series: number }): boolean => series > 0,
};

/** Bytes of a resource and of its attributes as they were read, by bytes of the resource. */
const BYTES_PER_RESOURCE_BYTE = 4;

/**
 * Interns resources, metric heads and series by their bytes. Ids are given once, also to what comes back
 * after eviction. Series are evicted for the lack of room, resources and heads only while no series has them.
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

  /** Bytes of all series, with the resources that they have. */
  get bytes(): number {
    return this.#series.bytes;
  }

  /** Ends a generation: what was not used in the newest `kept` ones, this one included, is forgotten. */
  endGeneration(kept: number): void {
    this.#series.endGeneration(kept);
    this.#resources.endGeneration(kept);
    this.#heads.endGeneration(kept);
  }

  /**
   * @returns null for a resource that is not kept
   * @throws OtlpError `malformed`: a resource is checked when it is not known
   */
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

  /** @returns null for a head that is not kept */
  findHead(shape: number, key: KeyRange): HeadEntry | null {
    return this.#heads.find(shape, 0, key) ?? null;
  }

  /**
   * The series, if its bytes are known. Apart from what adds one: that would allocate its closures here, for
   * each point.
   */
  find({ entry: head }: SoughtHead, { entry: resource }: SoughtResource, key: KeyRange): Series | undefined {
    return head === null || resource === null ? undefined : this.#series.find(resource.id, head.id, key);
  }

  /**
   * A series that `find` did not find.
   * @param key the point's attribute fields, one after the other
   * @param field their field number, which depends on the kind of point
   * @param scope asked before a new series is kept
   * @returns null for a new one that was not admitted, or that there is no room for
   * @throws OtlpError `malformed`: attributes are checked when they are first seen
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
    // Attributes have no order: some senders write the same ones in another order each time.
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

  /** What series hold beside their own bytes counts once, however many of them share it. */
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
