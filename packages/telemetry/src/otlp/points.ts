import type { ExponentialHistogramData, Refusal } from "./model.ts";
import type { WireReader } from "./reader.ts";
import type { ValueRange } from "../value-ranges.ts";

/** Larger numbers are garbage: 1e18 bytes are an exabyte, 1e18 seconds twice the age of the universe. */
const ABSURD = 1e18;
const NO_RECORDED_VALUE = 1;
const MIN_SCALE = -10;
const MAX_SCALE = 20;

/** Raw attribute fields. Usually contiguous; `scattered` tells otherwise. */
export class AttributeSpan {
  start = 0;
  end = 0;
  count = 0;
  scattered = false;
  #gaps = 0;

  get bytes(): number {
    return this.end - this.start - this.#gaps;
  }

  clear(): void {
    this.start = 0;
    this.end = 0;
    this.count = 0;
    this.scattered = false;
    this.#gaps = 0;
  }

  add(start: number, end: number): void {
    if (this.count === 0) this.start = start;
    else if (this.end !== start) {
      this.scattered = true;
      this.#gaps += start - this.end;
    }
    this.end = end;
    this.count++;
  }
}

/** Reads points into one reused object: values are valid until the next `read`. */
abstract class PointReader {
  readonly attributes = new AttributeSpan();
  startMs = 0;
  timeMs = 0;
  protected flags = 0;

  abstract read(reader: WireReader): void;

  protected clearHead(): void {
    this.attributes.clear();
    this.startMs = 0;
    this.timeMs = 0;
    this.flags = 0;
  }

  protected readAttribute(reader: WireReader): void {
    const fieldStart = reader.tagStart;
    reader.pos = reader.end();
    this.attributes.add(fieldStart, reader.pos);
  }

  protected headFault(): Refusal | null {
    if ((this.flags & NO_RECORDED_VALUE) !== 0) return "no_data";
    return this.timeMs === 0 ? "no_time" : null;
  }
}

const NUMBER_FIELDS = (1 << 2) | (1 << 3) | (1 << 4) | (1 << 5) | (1 << 6) | (1 << 7) | (1 << 8);

export class NumberPointReader extends PointReader {
  value = 0;
  #hasValue = false;

  read(reader: WireReader): void {
    this.clearHead();
    this.#hasValue = false;
    while (reader.pos < reader.limit) {
      const tag = reader.tag();
      switch (tag) {
        case 0x11: // start_time_unix_nano
          this.startMs = reader.time();
          break;
        case 0x19: // time_unix_nano
          this.timeMs = reader.time();
          break;
        case 0x21: // as_double
          this.value = reader.double();
          this.#hasValue = true;
          break;
        case 0x31: // as_int
          this.value = reader.sfixed64();
          this.#hasValue = true;
          break;
        case 0x3a: // attributes
          this.readAttribute(reader);
          break;
        case 0x40: // flags
          this.flags = reader.uint();
          break;
        case 0x2a: // exemplars
          reader.skip(tag);
          break;
        default:
          reader.skipUnknown(tag, NUMBER_FIELDS);
      }
    }
  }

  fault(range: ValueRange, monotonic: boolean): Refusal | null {
    const fault = this.headFault();
    if (fault !== null) return fault;
    if (!this.#hasValue) return "no_data";
    return numberFault(this.value, monotonic || range.min >= 0) ?? rangeFault(this.value, range.max);
  }
}

const HISTOGRAM_FIELDS = 0x1ffc;

export class HistogramPointReader extends PointReader {
  count = 0;
  sum = 0;
  readonly #maxBuckets: number;
  #buckets = 0;
  #hasSum = false;

  constructor(maxBuckets: number) {
    super();
    this.#maxBuckets = maxBuckets;
  }

  read(reader: WireReader): void {
    this.clearHead();
    this.count = 0;
    this.sum = 0;
    this.#buckets = 0;
    this.#hasSum = false;
    while (reader.pos < reader.limit) {
      const tag = reader.tag();
      switch (tag) {
        case 0x11:
          this.startMs = reader.time();
          break;
        case 0x19:
          this.timeMs = reader.time();
          break;
        case 0x21: // count
          this.count = reader.fixed64();
          break;
        case 0x29: // sum
          this.sum = reader.double();
          this.#hasSum = true;
          break;
        case 0x4a: // attributes
          this.readAttribute(reader);
          break;
        case 0x50: // flags
          this.flags = reader.uint();
          break;
        default:
          this.#readRest(reader, tag);
      }
    }
  }

  fault(range: ValueRange): Refusal | null {
    const fault = this.headFault();
    if (fault !== null) return fault;
    if (this.#buckets > this.#maxBuckets) return "too_large";
    // A sum is absent if measurements may be negative; unusable here.
    if (!this.#hasSum) return "no_data";
    const numbers = numberFault(this.count, true) ?? numberFault(this.sum, true);
    return numbers ?? rangeFault(this.count, range.maxCount) ?? rangeFault(this.sum, range.max);
  }

  #readRest(reader: WireReader, tag: number): void {
    const start = reader.pos;
    switch (tag) {
      case 0x32: // bucket_counts, packed
        reader.skip(tag);
        this.#buckets += (reader.pos - start) >>> 3;
        break;
      case 0x31: // bucket_counts, one by one
        reader.skip(tag);
        this.#buckets++;
        break;
      case 0x3a: // explicit_bounds
      case 0x39:
      case 0x42: // exemplars
      case 0x59: // min
      case 0x61: // max
        reader.skip(tag);
        break;
      default:
        reader.skipUnknown(tag, HISTOGRAM_FIELDS);
    }
  }
}

const EXPONENTIAL_FIELDS = 0x7ffe;
const BUCKETS_FIELDS = (1 << 1) | (1 << 2);

/** ExponentialHistogramDataPoint and its `data`. Points share one array for bucket counts. */
export class ExponentialPointReader extends PointReader implements ExponentialHistogramData {
  scale = 0;
  zeroCount = 0;
  offset = 0;
  count = 0;
  sum = 0;
  min = 0;
  max = 0;
  readonly bucketCounts: number[] = [];
  readonly #maxBuckets: number;
  #buckets = 0;
  #bucketTotal = 0;
  #hasSum = false;
  #hasMin = false;
  #hasMax = false;
  #tooLarge = false;
  #hasNegative = false;

  constructor(maxBuckets: number) {
    super();
    this.#maxBuckets = maxBuckets;
  }

  read(reader: WireReader): void {
    this.#clear();
    while (reader.pos < reader.limit) {
      const tag = reader.tag();
      switch (tag) {
        case 0x0a: // attributes
          this.readAttribute(reader);
          break;
        case 0x11:
          this.startMs = reader.time();
          break;
        case 0x19:
          this.timeMs = reader.time();
          break;
        case 0x21: // count
          this.count = reader.fixed64();
          break;
        case 0x29: // sum
          this.sum = reader.double();
          this.#hasSum = true;
          break;
        case 0x30: // scale
          this.scale = reader.sint();
          break;
        case 0x42: // positive
          this.#readPositive(reader);
          break;
        case 0x61: // min
          this.min = reader.double();
          this.#hasMin = true;
          break;
        case 0x69: // max
          this.max = reader.double();
          this.#hasMax = true;
          break;
        default:
          this.#readRest(reader, tag);
      }
    }
    this.bucketCounts.length = this.#buckets;
    this.#fillExtremes();
  }

  fault(range: ValueRange): Refusal | null {
    const fault = this.headFault();
    if (fault !== null) return fault;
    if (this.#tooLarge) return "too_large";
    if (this.#hasNegative) return "negative";
    if (!this.#hasSum) return "no_data";
    const numbers = numberFault(this.sum, true) ?? numberFault(this.min, true) ?? numberFault(this.max, true);
    const ranges = rangeFault(this.max, range.max) ?? rangeFault(this.count, range.maxCount);
    return numbers ?? numberFault(this.count, true) ?? ranges ?? this.#shapeFault();
  }

  #shapeFault(): Refusal | null {
    if (this.scale < MIN_SCALE || this.scale > MAX_SCALE || this.min > this.max) return "malformed";
    return this.zeroCount + this.#bucketTotal === this.count ? null : "malformed";
  }

  #clear(): void {
    this.clearHead();
    this.scale = 0;
    this.zeroCount = 0;
    this.offset = 0;
    this.count = 0;
    this.sum = 0;
    this.min = 0;
    this.max = 0;
    this.#buckets = 0;
    this.#bucketTotal = 0;
    this.#hasSum = false;
    this.#hasMin = false;
    this.#hasMax = false;
    this.#tooLarge = false;
    this.#hasNegative = false;
  }

  #readRest(reader: WireReader, tag: number): void {
    switch (tag) {
      case 0x39: // zero_count
        this.zeroCount = reader.fixed64();
        break;
      case 0x4a: // negative
        this.#readNegative(reader);
        break;
      case 0x50: // flags
        this.flags = reader.uint();
        break;
      case 0x5a: // exemplars
      case 0x71: // zero_threshold
        reader.skip(tag);
        break;
      default:
        reader.skipUnknown(tag, EXPONENTIAL_FIELDS);
    }
  }

  #readPositive(reader: WireReader): void {
    const outer = reader.enter();
    while (reader.pos < reader.limit) {
      const tag = reader.tag();
      if (tag === 0x12) this.#readPacked(reader);
      else if (tag === 0x10) this.#addBucket(reader.uint());
      else if (tag === 0x08) this.offset = reader.sint();
      else reader.skipUnknown(tag, BUCKETS_FIELDS);
    }
    reader.leave(outer);
  }

  #readPacked(reader: WireReader): void {
    const end = reader.end();
    const outer = reader.limit;
    reader.limit = end;
    while (reader.pos < end) this.#addBucket(reader.uint());
    reader.limit = outer;
  }

  #addBucket(count: number): void {
    if (this.#buckets === this.#maxBuckets) {
      this.#tooLarge = true;
      return;
    }
    this.bucketCounts[this.#buckets++] = count;
    this.#bucketTotal += count;
  }

  /** Reads negative buckets, which must be empty: latencies and sizes can't be negative. */
  #readNegative(reader: WireReader): void {
    const outer = reader.enter();
    while (reader.pos < reader.limit) {
      const tag = reader.tag();
      if (tag === 0x12) {
        const packed = reader.enter();
        while (reader.pos < reader.limit) if (reader.uint() !== 0) this.#hasNegative = true;
        reader.leave(packed);
      } else if (tag === 0x10) {
        if (reader.uint() !== 0) this.#hasNegative = true;
      } else if (tag === 0x08) reader.skip(tag);
      else reader.skipUnknown(tag, BUCKETS_FIELDS);
    }
    reader.leave(outer);
  }

  /** Without minimum and maximum on the wire, the outermost bucket bounds replace them. */
  #fillExtremes(): void {
    if (this.#hasMin && this.#hasMax) return;
    let first = 0;
    let last = this.#buckets - 1;
    while (first <= last && this.bucketCounts[first] === 0) first++;
    while (last >= first && this.bucketCounts[last] === 0) last--;
    const perOctave = 2 ** this.scale;
    if (first > last) return;
    if (!this.#hasMin && this.zeroCount === 0) this.min = 2 ** ((this.offset + first) / perOctave);
    if (!this.#hasMax) this.max = 2 ** ((this.offset + last + 1) / perOctave);
  }
}

function numberFault(value: number, nonNegative: boolean): Refusal | null {
  if (Number.isNaN(value)) return "not_a_number";
  if (Math.abs(value) > ABSURD) return "absurd";
  return nonNegative && value < 0 ? "negative" : null;
}

function rangeFault(value: number, max: number): Refusal | null {
  return value > max ? "out_of_range" : null;
}
