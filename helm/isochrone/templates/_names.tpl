{{/* What all names begin with. */}}
{{- define "isochrone.name" -}}
{{ .Values.fullnameOverride | default "isochrone" | trunc 40 | trimSuffix "-" }}
{{- end }}

{{/* Labels that pods of a component are selected by: never to be changed. By the first one aggregators know
     probes. Takes {root, component}. */}}
{{- define "isochrone.selector" -}}
app.kubernetes.io/name: isochrone-{{ .component }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* Labels of every object. Takes {root, component}. */}}
{{- define "isochrone.labels" -}}
{{ include "isochrone.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: isochrone
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Metadata of an object. Takes {root, component, name}. */}}
{{- define "isochrone.metadata" -}}
name: {{ .name }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "isochrone.labels" . | nindent 2 }}
{{- end }}

{{/* Reference of an image. Takes {root, component}. */}}
{{- define "isochrone.image" -}}
{{- $image := .root.Values.image -}}
{{- $name := printf "isochrone-%s" .component -}}
{{- $path := $name -}}
{{- with $image.registry }}{{ $path = printf "%s/%s" (trimSuffix "/" .) $name }}{{ end -}}
{{- $tag := $image.tag | default .root.Chart.AppVersion -}}
{{- if and .root.Values.kafka.enabled (eq .root.Values.kafka.client "kafkajs") (not (has .component (list "dispatcher" "scheduler-plugin" "cli"))) -}}
{{- $tag = printf "%s-kafkajs" $tag -}}
{{- end -}}
{{- with get $image.digests .component -}}
{{ $path }}@{{ . }}
{{- else -}}
{{ $path }}:{{ $tag }}
{{- end -}}
{{- end }}

{{/* A file of rights or policies with its placeholders filled. Takes {root, path}. */}}
{{- define "isochrone.file" -}}
{{- $values := .root.Values.settings -}}
{{- $namespace := .root.Release.Namespace -}}
{{- $netperf := splitList "/" ($values.annotations.netperfConfigMap | default "default/netperf-metrics") -}}
{{- $latencies := splitList "/" ($values.networkTopology.latenciesFrom | default "default/latencies") -}}
{{- $text := .root.Files.Get .path -}}
{{- if not $text }}{{ fail (printf "the chart lacks its file %s" .path) }}{{ end -}}
{{- $text
  | replace "__NAMESPACE__" $namespace
  | replace "__NAME__" (include "isochrone.name" .root)
  | replace "__PREFIX__" $values.annotations.prefix
  | replace "__GATE__" "isochrone.dev/placement"
  | replace "__TOPOLOGY_NAMESPACE__" $values.networkTopology.namespace
  | replace "__TOPOLOGY_NAME__" $values.networkTopology.name
  | replace "__NETPERF_NAMESPACE__" (first $netperf)
  | replace "__NETPERF_NAME__" (last $netperf)
  | replace "__LATENCIES_NAMESPACE__" (first $latencies)
  | replace "__LATENCIES_NAME__" (last $latencies)
  | replace "__KEYS_SECRET__" (include "isochrone.keysSecret" .root)
  | replace "__RECORD_KEYS_SECRET__" (include "isochrone.recordKeysSecret" .root)
  | replace "__CERTIFICATES_SECRET__" (include "isochrone.certificatesSecret" .root)
  | replace "__TRUST_CONFIG_MAP__" (include "isochrone.trustConfigMap" .root)
  | replace "__WEBHOOK_URL__" (ternary (printf "%s/" $values.webhook.url) "none" (not (empty $values.webhook.url)))
  | replace "__CANARY_NAMESPACE__" $values.scheduler.canaryNamespace -}}
{{- end }}

{{/* The Secret of the keys of records on Kafka, which the aggregator makes and nobody mounts. */}}
{{- define "isochrone.recordKeysSecret" -}}
{{ include "isochrone.name" . }}-record-keys
{{- end }}

{{/* The Secret of the probes' keys, which the aggregator makes. */}}
{{- define "isochrone.keysSecret" -}}
{{ include "isochrone.name" . }}-probe-keys
{{- end }}
