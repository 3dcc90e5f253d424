export interface MetricsDecoderOptions {
  /** Remembered series; evicts the least recently used. @default 1000000 */
  readonly maxSeries?: number;
  /**
   * Bytes of the attributes and resources of remembered series; evicts the least recently used.
   * @default 256 x maxSeries
   */
  readonly maxSeriesBytes?: number;
  /** Remembered resources. One with series stays: points of further ones are refused. @default 65536 */
  readonly maxResources?: number;
  /** Maximum bytes of a record; longer ones are refused. @default 16777216 */
  readonly maxRecordBytes?: number;
  /** Maximum attributes per point. @default 128 */
  readonly maxAttributes?: number;
  /** Maximum bytes per attribute, name included. @default 4096 */
  readonly maxAttributeBytes?: number;
  /** Maximum attribute bytes per point. @default 8192 */
  readonly maxPointAttributeBytes?: number;
  /** Maximum bytes of a resource. @default 16384 */
  readonly maxResourceBytes?: number;
  /** Maximum bytes of a metric's name and unit. @default 1024 */
  readonly maxNameBytes?: number;
  /** Maximum buckets per histogram point. @default 4096 */
  readonly maxBuckets?: number;
  /** Points are sums over many others: checks only the lower ends of their ranges. @default false */
  readonly readsSums?: boolean;
  /** 32-bit secret of the hash tables, against senders who choose colliding labels. @default 0 */
  readonly hashSeed?: number;
}

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
