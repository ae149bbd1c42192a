"""Files with the elements of XLIFF's standards, made after their examples."""

# OASIS, XLIFF Version 1.2: all elements. Four units wait.
FIRST = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE xliff [<!ENTITY product "Acme &amp; Co">]>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"
 xmlns:o="urn:other"><!-- kept -->
<file original="a.rc" source-language="en-US" target-language="es"
 datatype="winres" tool-id="t"><header>
  <skl><internal-file form="text"><![CDATA[<source>no</source>]]>
  </internal-file></skl><phase-group><phase phase-name="p" process-name="R">
  <note>This <![CDATA[<note>]]></note></phase></phase-group>
  <glossary><internal-file>no</internal-file></glossary>
  <reference><external-file href="a"/></reference>
  <count-group name="c"><count count-type="word" unit="word">9</count>
  </count-group><tool tool-id="t" tool-name="T"/><prop-group><prop
   prop-type="x">no</prop></prop-group><note>no</note></header>
<body><group id="g1" restype="dialog"><context-group name="n"
  purpose="location"><context context-type="sourcefile">a.c</context>
 </context-group><count-group name="c2"><count count-type="x">1</count>
 </count-group><note>no</note>
 <group id="g2"><trans-unit id="1" resname="IDC_1">
  <source xml:lang="en">Press <bpt id="1" rid="1">&lt;b&gt;</bpt>OK<ept id="2"
   rid="1">&lt;/b&gt;</ept> in <ph id="3">%s<sub>in</sub></ph> <it id="4"
   pos="open">&lt;i&gt;</it>now<it id="4" pos="close">&lt;/i&gt;</it>.</source>
  <target state="new"></target>
  <context-group purpose="x-a"><context context-type="linenumber">7</context>
  </context-group><count-group name="c3"/><note from="dev">hi</note>
  <alt-trans match-quality="90%"><source>no</source><target state="translated"
   >no</target></alt-trans><o:source><source>no</source></o:source>
 </trans-unit></group>
 <trans-unit id="2"><source>A <g id="1" ctype="bold">big <g id="2"><x id="3"
  /> red</g></g> <bx id="4" rid="1"/>one<ex id="5" rid="1"/>, <mrk
  mtype="protected">Acme</mrk> <mrk mtype="term" mid="6">hash</mrk></source>
 </trans-unit>
 <trans-unit id="3"><source>By &product; since 1 &lt; 2</source>
  <target/><o:extra o:state="new"/></trans-unit>
 <trans-unit id="4"><source>Go on. Stop.</source><seg-source><mrk mtype="seg"
  mid="0">Go on.</mrk> <mrk mtype="seg" mid="1">Stop.</mrk></seg-source>
 </trans-unit>
 <trans-unit id="5"><source>Hello</source><target xml:lang="es"
  state="final">Hola</target></trans-unit>
 <trans-unit id="6" translate="no"><source>No</source></trans-unit>
 <bin-unit id="b" mime-type="image/png"><bin-source><external-file href="b"/>
  </bin-source><bin-target><internal-file form="base64">aa==</internal-file>
  </bin-target><note>no</note><trans-unit id="7"><source>no</source>
  </trans-unit></bin-unit></group><o:any><trans-unit id="8"><source>no</source>
 </trans-unit></o:any></body></file></xliff>
"""
# OASIS, XLIFF Version 2.1, and the modules: three segments wait.
SECOND = """<?xml version='1.0'?>
<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.1"
 srcLang="en" trgLang="es" xmlns:mtc="urn:oasis:names:tc:xliff:matches:2.0"
 xmlns:gls="urn:oasis:names:tc:xliff:glossary:2.0"
 xmlns:fs="urn:oasis:names:tc:xliff:fs:2.0"
 xmlns:mda="urn:oasis:names:tc:xliff:metadata:2.0"
 xmlns:res="urn:oasis:names:tc:xliff:resourcedata:2.0"
 xmlns:ctr="urn:oasis:names:tc:xliff:changetracking:2.1"
 xmlns:slr="urn:oasis:names:tc:xliff:sizerestriction:2.0"
 xmlns:val="urn:oasis:names:tc:xliff:validation:2.0"
 xmlns:its="http://www.w3.org/2005/11/its" its:version="2.0">
<file id="f1" original="a"><skeleton>Hello <source>no</source></skeleton>
 <res:resourceData><res:resourceItem id="r1"><res:source href="a"/>
 </res:resourceItem></res:resourceData><mda:metadata><mda:metaGroup><mda:meta
  type="x">no</mda:meta></mda:metaGroup></mda:metadata><val:validation>
  <val:rule isPresent="x"/></val:validation><slr:profiles/>
 <notes><note id="n1">no</note></notes>
 <group id="g1"><notes><note>no</note></notes>
 <unit id="u1" fs:fs="p"><mtc:matches><mtc:match ref="#s1" id="m1">
   <source>no</source><target>no</target><originalData><data id="d1">no</data>
   </originalData></mtc:match></mtc:matches><gls:glossary><gls:glossEntry>
   <gls:term>no</gls:term><gls:definition>no</gls:definition></gls:glossEntry>
  </gls:glossary><its:locQualityIssues/><ctr:changeTrack><ctr:revisions
   appliesTo="source"><ctr:revision><ctr:item property="content">no</ctr:item>
  </ctr:revision></ctr:revisions></ctr:changeTrack>
  <originalData><data id="d1">&lt;b&gt;</data><data id="d2">&lt;/b&gt;<cp
   hex="0001"/></data></originalData>
  <segment id="s1" state="initial" subState="my:new"><source>Press <pc id="1"
   dataRefStart="d1" dataRefEnd="d2">OK <ph id="2"/></pc> now<cp hex="0007"/>
   </source></segment>
  <ignorable><source> </source><target> </target></ignorable>
  <segment><source><sc id="3" dataRef="d1"/>Not<ec startRef="3" dataRef="d2"/>
   <mrk id="m1" translate="no">Acme</mrk> <mrk id="m2" type="term">hash</mrk>
   <sm id="m3" type="comment" value="a"/>here<em startRef="m3"/></source>
   <target/></segment>
  <segment state="final" id="s3"><source>Hello</source><target
   order="1">Hola</target></segment></unit></group>
 <unit id="u2" translate="no"><segment><source>No</source></segment></unit>
 <unit id="u3"><notes><note category="x">q</note></notes><segment>
  <source xml:space="preserve"> Three </source></segment></unit></file></xliff>
"""
# Their texts.
TEXTS = {
    FIRST: [
        'Press <bpt id="1"/>OK<ept id="2"/> in <ph id="3"/> <it id="4"/>now'
        '<it id="4" n="2"/>.',
        'A <g id="1">big <g id="2"><x id="3"/> red</g></g> <bx id="4"/>one'
        '<ex id="5"/>, <mrk/> <mrk mid="6">hash</mrk>',
        "By Acme & Co since 1 < 2",
        "Go on. Stop.",
    ],
    SECOND: [
        'Press <pc id="1">OK <ph id="2"/></pc> now<cp hex="0007"/>\n   ',
        '<sc id="3"/>Not<ec startRef="3"/>\n   <mrk id="m1"/> <mrk id="m2">hash'
        '</mrk>\n   <sm id="m3"/>here<em startRef="m3"/>',
        " Three ",
    ],
}
