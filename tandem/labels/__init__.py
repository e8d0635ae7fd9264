"""The frame that all statistics take, built from labels.

`tables` reads any table of labels, and `file` labels files. `facts` holds one label, its scale and
its marked evidence. `frame` builds the frame, also from the labels that a report's options select.
`selection` holds these options. `reference` decides people's labels together, `frame` and
`metadata` give the strata, `exposed` counts labels given with a judge's label in view or after a
look at others', and `resampling` holds the samples for intervals.
"""
