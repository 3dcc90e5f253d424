// Scrapes exponential histograms in Prometheus' protobuf format, the only one with native histograms.
import protobuf from "protobufjs";

// The required part of io.prometheus.client (client_model). Other fields are skipped.
const PROTO = `
syntax = "proto3";
message MetricFamily { string name = 1; repeated Metric metric = 4; }
message Metric { Histogram histogram = 7; }
message BucketSpan { sint32 offset = 1; uint32 length = 2; }
message Histogram {
  uint64 sample_count = 1; double sample_sum = 2; sint32 schema = 5; uint64 zero_count = 7;
  repeated BucketSpan positive_span = 12; repeated sint64 positive_delta = 13;
}
`;

const family = protobuf.parse(PROTO).root.lookupType("MetricFamily");
const ACCEPT = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited";

interface NativeHistogram {
  readonly count: number;
  readonly sum: number;
  /** Bucket growth factor is 2^(2^-schema). */
  readonly schema: number;
  readonly zeroCount: number;
  /** Number of samples in all positive buckets. */
  readonly positiveCount: number;
}

/** Returns the first series of the family. Returns null if it is missing. */
export async function scrapeNativeHistogram(url: string, name: string): Promise<NativeHistogram | null> {
  const answer = await fetch(url, { headers: { accept: ACCEPT } });
  const reader = protobuf.Reader.create(new Uint8Array(await answer.arrayBuffer()));
  while (reader.pos < reader.len) {
    const decoded = family.toObject(family.decodeDelimited(reader), { longs: Number, defaults: true }) as {
      name: string;
      metric: { histogram: Record<string, number> & { positiveDelta: number[] } }[];
    };
    if (decoded.name !== name) continue;
    const histogram = decoded.metric[0]!.histogram;
    let inBucket = 0;
    let positiveCount = 0;
    // Each bucket's count is encoded as the difference to the previous one.
    for (const delta of histogram.positiveDelta) positiveCount += inBucket += delta;
    return {
      count: histogram["sampleCount"]!,
      sum: histogram["sampleSum"]!,
      schema: histogram["schema"]!,
      zeroCount: histogram["zeroCount"]!,
      positiveCount,
    };
  }
  return null;
}
