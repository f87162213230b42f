"""How a committed offset of the source becomes one of the target. The first three are each asked for what is left:

1. *facts* (:mod:`~kafka_dr.offsets.translate.facts`): what audits and offset syncs say. No record is read. For few
   offsets this stage is left out, because gathering the facts would take longer than reading records;
2. *content* (:mod:`~kafka_dr.offsets.translate.by_content`): records of both clusters are compared;
3. *choice* (:mod:`~kafka_dr.offsets.translate.choice`): the owners of a group may want another start. It is
   declared in the topology, so the caller passes it on;
4. *verify* (:mod:`~kafka_dr.offsets.verify`): what was committed on the target is read back and compared.

:mod:`~kafka_dr.offsets.translate.pipeline` calls the first three, and hands each the same
:class:`~kafka_dr.offsets.translate.basis.TranslationBasis`.
"""
