/** Bounds of a MetricsDecoder. */
export interface MetricsDecoderOptions {
  /** Series that are remembered; beyond it the least recently used goes. @default 1000000 */
  readonly maxSeries?: number;
  /**
   * Bytes of the attributes of all series, with the resources that they have; beyond it the least recently
   * used series go.
   * @default 256 for each of maxSeries
   */
  readonly maxSeriesBytes?: number;
  /**
   * Resources that are remembered. One that has series stays: points of further ones are left out.
   * @default 65536
   */
  readonly maxResources?: number;
  /** A longer record is refused as a whole. @default 16777216 */
  readonly maxRecordBytes?: number;
  /** A point with more attributes is left out. @default 128 */
  readonly maxAttributes?: number;
  /** A point with a longer attribute, its name included, is left out. @default 4096 */
  readonly maxAttributeBytes?: number;
  /** A point with more bytes of attributes is left out. @default 8192 */
  readonly maxPointAttributeBytes?: number;
  /** The points of a longer resource are left out. @default 16384 */
  readonly maxResourceBytes?: number;
  /** The points of a metric whose name and unit are longer are left out. @default 1024 */
  readonly maxNameBytes?: number;
  /** A histogram point with more buckets is left out. @default 4096 */
  readonly maxBuckets?: number;
  /** Points are sums over many others: of their ranges only the lower ends are checked. @default false */
  readonly readsSums?: boolean;
  /** 32-bit secret of the hash tables, against senders who choose colliding labels. @default 0 */
  readonly hashSeed?: number;
}

/** What applies where nothing else is said. */
export type DecoderDefaults = Omit<Required<MetricsDecoderOptions>, "maxSeriesBytes">;

export const DECODER_DEFAULTS: DecoderDefaults = {
  maxSeries: 1_000_000,
  maxResources: 65_536,
  maxRecordBytes: 16 * 1_024 * 1_024,
  maxAttributes: 128,
  maxAttributeBytes: 4_096,
  maxPointAttributeBytes: 8_192,
  maxResourceBytes: 16_384,
  maxNameBytes: 1_024,
  maxBuckets: 4_096,
  readsSums: false,
  hashSeed: 0,
};
