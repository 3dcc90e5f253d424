{{/* A component's settings file: what values say of its sections, and what the chart knows itself. Null is
     "not said". Takes {root, sections, own}. */}}
{{- define "isochrone.settingsFile" -}}
{{- $file := dict -}}
{{- range $section := .sections -}}
{{- $said := dict -}}
{{- range $key, $value := get $.root.Values.settings $section -}}
{{- if not (kindIs "invalid" $value) }}{{ $_ := set $said $key $value }}{{ end -}}
{{- end -}}
{{- range $key, $value := get $.own $section | default dict -}}{{ $_ := set $said $key $value }}{{ end -}}
{{- if $said }}{{ $_ := set $file $section $said }}{{ end -}}
{{- end -}}
{{ toYaml $file }}
{{- end }}

{{/* kubernetes or none. */}}
{{- define "isochrone.accessMode" -}}
{{ .Values.access.mode | default (ternary "none" "kubernetes" (eq .Values.tls.source "none")) }}
{{- end }}

{{/* "true" where the aggregator speaks TLS; empty: plain HTTP. */}}
{{- define "isochrone.tls" -}}
{{- if ne .Values.tls.source "none" }}true{{ end -}}
{{- end }}

{{/* "true" where it does so by certificates that it makes itself. */}}
{{- define "isochrone.ownTls" -}}
{{- if eq .Values.tls.source "own" }}true{{ end -}}
{{- end }}

{{/* "true" where the scheduler-plugin speaks TLS. */}}
{{- define "isochrone.schedulerTls" -}}
{{- if ne .Values.tls.source "none" }}true{{ end -}}
{{- end }}

{{/* "true" where it does so by certificates from elsewhere. */}}
{{- define "isochrone.schedulerTlsFiles" -}}
{{- if has .Values.tls.source (list "secret" "cert-manager") }}true{{ end -}}
{{- end }}

{{/* "true" where several replicas of the scheduler-plugin share their decisions. */}}
{{- define "isochrone.schedulerReplicas" -}}
{{- if gt (int .Values.schedulerPlugin.replicas) 1 }}true{{ end -}}
{{- end }}

{{/* "true" where who asks the extender must show a client certificate. */}}
{{- define "isochrone.extenderAsksClients" -}}
{{- if and (include "isochrone.schedulerTls" .) .Values.tls.extenderClientCertificates }}true{{ end -}}
{{- end }}

{{/* "true" where the aggregator and probes share keys. */}}
{{- define "isochrone.probeKeys" -}}
{{- if eq (.Values.settings.probe.authentication | default "hmac") "hmac" }}true{{ end -}}
{{- end }}

{{/* "true" where records on Kafka are sealed: keys are given by what tokens prove. */}}
{{- define "isochrone.recordKeys" -}}
{{- if and .Values.kafka.enabled .Values.kafka.sealRecords (eq (include "isochrone.accessMode" .) "kubernetes") }}true{{ end -}}
{{- end }}

{{/* "true" where the collector runs on each node. */}}
{{- define "isochrone.collectsOnNodes" -}}
{{- if eq .Values.collector.mode "node" }}true{{ end -}}
{{- end }}

{{- define "isochrone.aggregatorHost" -}}
{{ include "isochrone.name" . }}-aggregator.{{ .Release.Namespace }}.svc
{{- end }}

{{- define "isochrone.aggregatorUrl" -}}
http{{ if include "isochrone.tls" . }}s{{ end }}://{{ include "isochrone.aggregatorHost" . }}:8080
{{- end }}

{{- define "isochrone.schedulerHost" -}}
{{ include "isochrone.name" . }}-scheduler-plugin.{{ .Release.Namespace }}.svc
{{- end }}

{{- define "isochrone.schedulerUrl" -}}
http{{ if include "isochrone.schedulerTls" . }}s{{ end }}://{{ include "isochrone.schedulerHost" . }}:8081
{{- end }}

{{/* The section bus, as the chart knows it. Takes {root, component}. */}}
{{- define "isochrone.bus" -}}
{{- $kafka := .root.Values.kafka -}}
{{- if not $kafka.enabled -}}
kind: otlp-http
{{- else -}}
kind: kafka
brokers: {{ toYaml $kafka.brokers | nindent 2 }}
client: {{ $kafka.client }}
tls: {{ $kafka.tls.enabled }}
{{- if include "isochrone.recordKeys" .root }}
sealRecords: true
{{- end }}
{{- with $kafka.tls.caSecret }}
caFile: /etc/isochrone/kafka/ca.crt
{{- end }}
{{- with $kafka.tls.clientSecret }}
certFile: /etc/isochrone/kafka/tls.crt
keyFile: /etc/isochrone/kafka/tls.key
{{- end }}
{{- with $kafka.sasl.mechanism }}
saslMechanism: {{ . }}
saslUsername: {{ get $kafka.sasl.usernames $.component | default (get $kafka.sasl.usernames "default") }}
saslPasswordFile: /etc/isochrone/kafka/password
{{- end }}
{{- end -}}
{{- end }}

{{/* Sources of the projected volume of the bus; empty: there is none. Takes {root, component}. */}}
{{- define "isochrone.busFiles" -}}
{{- $kafka := .root.Values.kafka -}}
{{- if $kafka.enabled -}}
{{- with $kafka.tls.caSecret }}
- secret: {name: {{ . }}, items: [{key: {{ $kafka.tls.caKey | quote }}, path: ca.crt}]}
{{- end }}
{{- with $kafka.tls.clientSecret }}
- secret: {name: {{ . }}, items: [{key: tls.crt, path: tls.crt}, {key: tls.key, path: tls.key}]}
{{- end }}
{{- if $kafka.sasl.mechanism }}
{{- $key := get $kafka.sasl.passwordKeys .component | default (get $kafka.sasl.passwordKeys "default") }}
- secret: {name: {{ $kafka.sasl.passwordSecret }}, items: [{key: {{ $key | quote }}, path: password}]}
{{- end }}
{{- end -}}
{{- end }}

{{/* What the aggregator makes with tls.source=own: the Secret of its certificates, and the ConfigMap that
     says whom to trust. */}}
{{- define "isochrone.certificatesSecret" -}}
{{ include "isochrone.name" . }}-aggregator-certificates
{{- end }}
{{- define "isochrone.trustConfigMap" -}}
{{ include "isochrone.name" . }}-aggregator-ca
{{- end }}

{{/* What the scheduler-plugin makes then: its own Secret, the ConfigMap that says whom to trust, and a Secret
     for each client. */}}
{{- define "isochrone.extenderSecret" -}}
{{ include "isochrone.name" . }}-scheduler-plugin-certificates
{{- end }}
{{- define "isochrone.extenderTrustConfigMap" -}}
{{ include "isochrone.name" . }}-scheduler-plugin-ca
{{- end }}
{{- define "isochrone.kubeSchedulerSecret" -}}
{{ include "isochrone.name" . }}-scheduler-plugin-kube-scheduler
{{- end }}
{{- define "isochrone.decisionsSecret" -}}
{{ include "isochrone.name" . }}-scheduler-plugin-decisions
{{- end }}

{{/* Secrets with certificates from elsewhere. */}}
{{- define "isochrone.aggregatorSecret" -}}
{{ .Values.tls.aggregatorSecret | default (printf "%s-aggregator-tls" (include "isochrone.name" .)) }}
{{- end }}
{{- define "isochrone.schedulerSecret" -}}
{{ .Values.tls.schedulerPluginSecret | default (printf "%s-scheduler-plugin-tls" (include "isochrone.name" .)) }}
{{- end }}
{{- define "isochrone.clientSecret" -}}
{{ .Values.tls.clientSecret | default (printf "%s-decisions-client" (include "isochrone.name" .)) }}
{{- end }}
